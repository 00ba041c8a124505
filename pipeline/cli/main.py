"""Defines the command line: the group of all commands, their exit codes and what is printed of errors."""

import errno
import gc
import io
import os
import sys
from collections.abc import Sequence

import click

from pipeline.cli.bench_commands import bench
from pipeline.cli.console import LOGGER, say
from pipeline.cli.database_commands import datasette, prune, vacuum, verify
from pipeline.cli.finetune_command import finetune
from pipeline.cli.reading_commands import compare, evaluate, export, search, status
from pipeline.cli.run_command import run
from pipeline.cli.setup_commands import completion, doctor, init
from pipeline.cli.view_commands import report, text, view
from pipeline.device.startup.imports import is_importing
from pipeline.errors import ExitCode, StopRequest, exit_code, is_explained
from storage.strings.printable import on_screen

_STREAMS = ("stdin", "stdout", "stderr")  # in the order of their numbers
# Errors that writing to a stream raises, and opening a file hardly ever.
_NOT_WRITTEN = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
# Objects from one look for garbage to the next: there is none while modules are imported, but Python's 700 would have
# the collector walk all of them again and again, a tenth of startup time.
_OBJECTS_A_COLLECTION = 20_000


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ocrbatch")
def cli() -> None:
    """Reads every page of PDFs and images into one SQLite file, offline."""


for command in (
    run,
    text,
    export,
    status,
    report,
    view,
    compare,
    search,
    evaluate,
    verify,
    prune,
    vacuum,
    datasette,
    doctor,
    finetune,
    bench,
    init,
    completion,
):
    cli.add_command(command)


def main(args: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code; prints the error if a command raised one."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _open_streams()
    if args is None:
        gc.set_threshold(_OBJECTS_A_COLLECTION)
    code = _run_command(args)
    if args is None:
        gc.freeze()  # the interpreter's end would walk all that is left, a twentieth of a short run's time
    model = sys.modules.get("pipeline.device.threads.page_reader")
    # With threads at work or a lost GPU, the interpreter's shutdown would abort the process with another exit code; and
    # shutting PyTorch down takes seconds on a busy machine, which a process that was told to end does not have.
    ends_early = args is None and (code in (ExitCode.STOPPED, ExitCode.FATAL) or is_importing())
    if (model is not None and model.is_at_work()) or ends_early:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _run_command(args: Sequence[str] | None) -> int:
    # A name that the locale cannot encode must not end a command.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        result = cli.main(args, prog_name="ocrbatch", standalone_mode=False)
        sys.stdout.flush()  # flushed here, where a broken pipe is caught
    except click.ClickException as error:
        error.show(on_screen(sys.stderr, always=True))
        return error.exit_code
    except BrokenPipeError:  # the reader of our output, such as `head`, has closed it
        _forget_stdout()
        return 1
    except OSError as error:
        if error.filename is not None or error.errno not in _NOT_WRITTEN:
            return _report(error)
        _forget_stdout()
        say([f"ocrbatch: standard output: cannot be written: {error.strerror}"], err=True)
        return ExitCode.FATAL
    except (Exception, KeyboardInterrupt, StopRequest, click.Abort) as error:
        return _report(error)
    return result if isinstance(result, int) else 0


def _open_streams() -> None:
    """Opens streams that were closed when the process was started (>&-), to nowhere.

    Otherwise files that are opened get their numbers, and what a library prints ends up in them.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) < len(_STREAMS):
        pass
    os.close(number)
    for number, name in enumerate(_STREAMS):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8"))


def _forget_stdout() -> None:
    """Redirects standard output to nowhere: flushing its buffer at exit would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(error: BaseException) -> int:
    if is_explained(error):
        # A configuration may have several errors, a line each.
        say(f"ocrbatch: {error}".splitlines(), err=True)
    elif isinstance(error, KeyboardInterrupt | StopRequest | click.Abort):
        click.echo("ocrbatch: stopped", err=True)
    else:
        say([f"ocrbatch: internal error: {error!r}; -v shows where, please report it"], err=True)
    LOGGER.debug("traceback", exc_info=error)
    return exit_code(error)

"""Starts runs that die, one after the other, until one ends by itself:

python -m tests.faults.deaths.nights CONFIG.json HOW PAGE MOST

CONFIG.json holds a whole configuration. HOW is "kill" or "abort": the process dies that way when its encoder gets the
page of index PAGE of any document; or "load": it is killed while loading the model. At most MOST runs. Each is a fork
of a process that has imported what a run needs. Prints JSON: the exit codes, as in subprocess.

Few modules are imported at the top: a run's workers import this module too.
"""

import importlib
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.faults.rig.launcher import _FORKED_IMPORTS

if TYPE_CHECKING:
    from pipeline.config.schema import Config
    from pipeline.types import RenderedPage


def die(how: str) -> None:
    if how == "abort":
        os.abort()
    os.kill(os.getpid(), signal.SIGKILL)


def poison(how: str, page_index: int) -> None:
    """Makes this process die at its page."""
    from pipeline.device import open_models
    from pipeline.device.threads import encoder_thread

    real = encoder_thread.encode

    def encode(encoder: Any, pages: "Sequence[RenderedPage]") -> Any:
        if any(page.page.page_index == page_index for page in pages):
            die(how)
        return real(encoder, pages)

    if how == "load":
        open_models.load_model = lambda config: die(how)  # type: ignore[assignment, return-value]
    else:
        encoder_thread.encode = encode


def night(config: "Config", how: str, page_index: int) -> int:
    """Returns the exit code of one run, in a process of its own."""
    if pid := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    code = 70
    try:
        from tests.pipeline.runs import run_quietly

        poison(how, page_index)
        code = run_quietly(config).exit_code
    finally:
        os._exit(code)


def main(path: str, how: str, page_index: str, most: str) -> None:
    from pipeline.config.schema import Config

    config = Config.model_validate_json(Path(path).read_text(encoding="utf-8"))
    for name in _FORKED_IMPORTS:
        importlib.import_module(name)
    codes: list[int] = []
    while len(codes) < int(most) and (not codes or codes[-1] < 0):
        codes.append(night(config, how, int(page_index)))
    print(json.dumps(codes))


if __name__ == "__main__":
    main(*sys.argv[1:])

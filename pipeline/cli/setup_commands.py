"""Defines the commands that set ocrbatch up: `init`, `completion` and `doctor`."""

import json
from dataclasses import asdict
from typing import Any

import click

from pipeline.cli.console import say, verbose_option


@click.command()
@click.option("--config", "config_path", metavar="FILE", help="The YAML configuration file of your runs.")
@click.option("--db", "database", metavar="FILE", help="The database of your runs.  [default: ocrbatch.db]")
@click.option("--model", metavar="M", help='"small", a directory, or a Hugging Face id.')
@click.option("--cluster", metavar="ADDRESS", help="The Ray cluster of your runs; auto for this machine's.")
@click.option(
    "--read", is_flag=True, help="Also read a small page with the model, which takes seconds or more."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
@verbose_option
def doctor(
    config_path: str | None,
    database: str | None,
    model: str | None,
    cluster: str | None,
    read: bool,
    as_json: bool,
) -> int:
    """Check what a run needs on this machine, and say how to fix what is wrong.

    Exit code 6 if anything is. Nothing is downloaded, and no row is written to the database.
    """
    from pipeline.config import sources
    from pipeline.doctor.examination import examine
    from pipeline.errors import ExitCode

    options: dict[str, tuple[str, Any]] = {
        "--db": ("store.database", database),
        "--model": ("model", model),
        "--cluster": ("cluster.address", cluster),
    }
    config = sources.load(config_path, (), sources.layers(options))
    findings = []
    for finding in examine(config, read=read):
        findings.append(finding)
        if not as_json:
            say([finding.line()])
    num_faults = sum(finding.state == "FAIL" for finding in findings)
    if as_json:
        report = {"faults": num_faults, "findings": [asdict(finding) for finding in findings]}
        click.echo(json.dumps(report, indent=2))
    return ExitCode.FAULTY if num_faults else ExitCode.OK


_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("path", default="ocrbatch.yaml", metavar="[FILE]")
@click.option("--yes", is_flag=True, help="Ask nothing: this folder, ocrbatch.db in it, the shipped model.")
def init(path: str, yes: bool) -> None:
    """Write a configuration with every key explained, after three questions. Never overwrites a file.

    FILE is ocrbatch.yaml if it is not named.
    """
    from pipeline.config.starting import absolute, starting_text, write_new

    folder, database, model = ".", "ocrbatch.db", "small"
    if not yes:
        folder = click.prompt("Folder to read", default=folder)
        database = click.prompt("Database for the results", default=database)
        model = click.prompt('Model: "small" (shipped), a directory, or a Hugging Face id', default=model)
    answers = {
        "ingest.paths": [absolute(folder)],
        "store.database": absolute(database),
        "model": model,
    }
    write_new(path, starting_text(answers))
    say([f"{path} is written; begin with: ocrbatch run --config {path} --plan"])


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what makes a shell complete commands and options with Tab.

    \b
    bash: eval "$(ocrbatch completion bash)"   in ~/.bashrc
    zsh:  eval "$(ocrbatch completion zsh)"   in ~/.zshrc
    fish: ocrbatch completion fish > ~/.config/fish/completions/ocrbatch.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, "click has all of these shells"
    click.echo(kind(context.find_root().command, {}, "ocrbatch", "_OCRBATCH_COMPLETE").source().rstrip())

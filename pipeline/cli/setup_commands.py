"""Defines the commands that set ocrbatch up: `init` and `completion`."""

import click

from pipeline.cli.console import say

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

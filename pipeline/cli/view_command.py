"""Defines the `view` command: a reader in the browser."""

import click

from pipeline.cli.console import say, start_logging, verbose_option
from pipeline.cli.database_commands import database_option


@click.command()
@database_option
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port; 0 takes any free one."
)
@click.option("--no-browser", is_flag=True, help="Only say which file opens it.")
@click.option("--read-only", is_flag=True, help="Let nobody correct texts.")
@click.option("--config", "config_path", metavar="FILE", help="Configuration, for passwords of PDFs.")
@verbose_option
def view(
    database: str, port: int, no_browser: bool, read_only: bool, config_path: str | None, verbose: bool
) -> None:
    """Read, search and correct the results in the browser, on this machine only.

    Ctrl-C ends it.
    """
    start_logging(verbose)
    from pipeline.config import sources
    from pipeline.config.passwords import read_passwords
    from pipeline.viewer.app import Settings
    from pipeline.viewer.serving import serve

    given = () if config_path is None else read_passwords(sources.load(config_path, (), []).ingest)
    settings = Settings(database=database, read_only=read_only, passwords=given)
    serve(
        settings,
        port=port,
        opens_browser=not no_browser,
        say=lambda path: say([f"reading {database}: open {path} in a browser (Ctrl-C ends it)"]),
    )

"""Defines the command datasette. It imports what it needs when it runs."""

from typing import TextIO

import click

from pipeline.cli.database_commands import database_option


@click.command()
@database_option
@click.option("-o", "output", type=click.File("w", encoding="utf-8"), default="-", help="Write to this file.")
def datasette(database: str, output: TextIO) -> None:
    """Print metadata for Datasette, which shows the database in a browser: datasette FILE --metadata METADATA."""
    from storage.database import check_exists
    from storage.datasette.metadata import metadata_yaml

    check_exists(database)
    output.write(metadata_yaml(database))

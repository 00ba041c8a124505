"""Translates the options of `ocrbatch export` into a place for pages, and says what was written there."""

import click

from pipeline.reports.listing import cut
from storage.export.export_files import Written
from storage.export.formats import Format
from storage.strings.urls import is_url

HOW_GLOBS_MATCH = (
    "a --path without a slash is matched with the names of files and of folders above them, one with a slash with "
    "the end of the path, from any folder on; * stays within a name, ** spans folders"
)


def folder_of(
    name: str, form: Format, output: str | None, out_dir: str | None, shard_pages: int | None = None
) -> str | None:
    """Returns the folder for a file a document; None where the export is one file or standard output.

    name: of the format. output, out_dir: the options -o and --out-dir. Raises: click.UsageError.
    """
    if shard_pages is not None and (name != "parquet" or out_dir is None):
        raise click.UsageError("--shard-pages goes with --format parquet and --out-dir")
    if shard_pages is None and any(place is not None and is_url(place) for place in (output, out_dir)):
        raise click.UsageError(
            "URLs take Parquet shards only: --format parquet --shard-pages 10000 --out-dir URL; or export to a folder "
            "and copy that"
        )
    if output is not None and out_dir is not None:
        raise click.UsageError("-o and --out-dir: only one of them; --out-dir is a file for each document")
    if form.is_binary and output is None and out_dir is None and form.one_file == "all":
        raise click.UsageError(f"--format {name} is no text: name a file with -o, or a folder with --out-dir")
    if out_dir is not None or form.one_file == "all":
        return out_dir
    if output is None:
        raise click.UsageError(
            f"--format {name} is a file for each {form.one_file}: name a folder with --out-dir"
        )
    return output


def lines_of(written: Written, place: str) -> list[str]:
    """Returns what to say of an export: a line, and one for each document that was left out, or its figures were."""
    files = "1 file" if written.files == 1 else f"{written.files} files"
    left_out = f"; documents left out: {len(written.left_out)}" if written.left_out else ""
    pages = "1 page" if written.pages == 1 else f"{written.pages} pages"
    figures = "1 figure" if written.figures == 1 else f"{written.figures} figures"
    renamed, more = cut(written.renamed)
    return [
        f"exported: {pages} in {files}{f' with {figures}' if written.figures else ''}, {place}{left_out}",
        *(f"left out: {line}" for line in written.left_out),
        *(f"named otherwise: {line}" for line in renamed),
        *([f"named otherwise: {more}"] if more else []),
        *(f"figures left as text: {line}" for line in written.undrawn),
    ]

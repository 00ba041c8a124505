"""Defines the command finetune. It imports what it needs when it runs."""

from pathlib import Path
from typing import Any

import click

from pipeline.cli.console import device_option, verbose_option

_PATH, _POSITIVE = click.Path(path_type=Path), click.FloatRange(0, min_open=True)


@click.command()
@click.argument("folder", type=_PATH, required=False)
@click.option("--from-db", type=_PATH, metavar="FILE", help="The pages corrected in `ocrbatch view`.")
@click.option("--out", type=_PATH, required=True, metavar="DIR", help="New folder for the model.")
@click.option(
    "--truth",
    type=_PATH,
    metavar="DIR",
    help="Texts of files of several pages: DIR/<file>/<page>.txt, as for eval.",
)
@click.option(
    "--model",
    default="small",
    show_default=True,
    metavar="M",
    help='What to start from: "small", or a directory with a line reader.',
)
@click.option(
    "--minutes",
    type=_POSITIVE,
    default=30.0,
    show_default=True,
    help="How long to train; reading is not counted.",
)
@click.option(
    "--epochs", type=click.IntRange(1), help="How often every line is learned, instead of --minutes."
)
@device_option
@click.option("--rate", type=_POSITIVE, default=2e-4, show_default=True, help="Highest learning rate.")
@click.option("--batch", type=click.IntRange(1), default=16, show_default=True, help="Lines a step.")
@click.option(
    "--hold-out",
    type=click.FloatRange(0, 0.5),
    default=0.1,
    show_default=True,
    help="Share of pages that only measures.",
)
@click.option(
    "--augment",
    "wear",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="How much the lines are worn.",
)
@click.option(
    "--replay",
    type=_PATH,
    metavar="DIR",
    help="Pages and texts of another kind, so that it does not forget them.",
)
@click.option("--keep-worse", is_flag=True, help="Write the model even if it reads worse.")
@click.option("--seed", type=int, default=0, show_default=True)
@verbose_option
def finetune(
    folder: Path | None,
    from_db: Path | None,
    truth: Path | None,
    replay: Path | None,
    **options: Any,
) -> int:
    """Train the line reader further on your own pages.

    FOLDER holds page images beside their texts (page.png and page.txt). A share of the pages is kept out and read
    before and after; a model that reads them worse is not written (exit code 3).
    """
    if (folder is None) == (from_db is None):
        raise click.UsageError("name a folder of pages and texts, or a database with --from-db")
    from pipeline.finetune import finetuning, true_pages

    found, left_out = (
        true_pages.find_pages(folder, truth) if folder else true_pages.find_corrected(from_db or Path())
    )
    again = true_pages.find_pages(replay)[0] if replay else []
    return finetuning.finetune(found, left_out, again, finetuning.FinetuneSettings(**options))

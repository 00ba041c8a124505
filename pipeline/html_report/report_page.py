"""Makes a run's report: one HTML file with its styles, charts and pictures inside, which loads and runs nothing.

The pages that it shows are drawn once more in worker processes: their files are not trusted.
"""

import base64
import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import resources
from operator import itemgetter

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from pipeline.config.passwords import passwords_there
from pipeline.config.schema import Config
from pipeline.config.sources import as_stored
from pipeline.documents.page_picture import UNSEEN, Look, PagePicture
from pipeline.documents.settings import RenderSettings
from pipeline.html_report.gather import gather
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.reports.listing import in_words
from pipeline.reports.run_figures import SHARES, faults, used_paths, used_stages
from pipeline.types import Page
from storage.database import Row, open_for_reading
from storage.errors import ExportPathError
from storage.export.export_files import is_database, replace_file
from storage.export.formats import FORMATS
from storage.strings.printable import one_line, shown
from storage.strings.text import real_path

SIDE_PX = 360
_LOOK = Look(width_px=SIDE_PX, height_px=SIDE_PX, quality=60)
_WORKERS = 2
_CHANGED = "the file holds something else now"
# Names of series in report.css, each with its colour, and what they mean; as run_pages.throughput counts them.
_OVER_TIME = {"ok": "read", "embedded": "text layer taken", "doubtful": "needs a look"}


def thumbnails(pages: Sequence[Row], places: Mapping[int, Row], config: Config) -> dict[int, bytes | str]:
    """Returns page id -> the page as a small JPEG file, or why there is none, of all the pages.

    config: the run's, for its limits and passwords. Raises: WorkersError.
    """
    pool = WorkerPool(
        max_workers=_WORKERS,
        render=RenderSettings(
            max_image_pixels=config.ingest.max_image_pixels, passwords=passwords_there(config.ingest)
        ),
        page_timeout_s=config.render.page_timeout_s,
        memory_bytes=config.render.worker_memory_mb << 20,
    )
    asked = {}
    found: dict[int, bytes | str] = {}
    with pool as workers:
        # Ordered by file, so that a worker hashes and parses each but once.
        placed = [(places[page["page_id"]], page) for page in pages]
        for place, page in sorted(placed, key=lambda one: (one[0]["path"], one[0]["page_index"])):
            page_id = page["page_id"]
            if place["state"] != "there":
                found[page_id] = (
                    _CHANGED if place["state"] == "superseded" else "the file is not there any more"
                )
            elif place["kind"] not in ("pdf", "image"):
                found[page_id] = "videos have no thumbnail"
            else:
                content = {name: place[name] for name in ("sha256", "kind", "page_index")}
                its = Page(path=real_path(place["path"]), stamp=UNSEEN, **content)
                asked[page_id] = workers.picture(its, rotation_deg=page["rotation_deg"], look=_LOOK)
        for page_id, future in asked.items():
            drawn = future.result()
            if isinstance(drawn, PagePicture):
                found[page_id] = drawn.jpeg
            else:
                found[page_id] = _CHANGED if drawn.category == "changed" else drawn.message
    return found


NUM_PAGES = 12


def write_report(
    database: str,
    path: str,
    *,
    run_id: int | None = None,
    most: int = NUM_PAGES,
    with_thumbnails: bool = True,
) -> Row:
    """Writes the report of a run to a file that appears, whole, at the end; returns its figures, as gather does.

    run_id: None for the last run that stored a page. most: pages in each list.
    Raises: SelectionError, ExportPathError, StorageError, WorkersError.
    """
    _refuse(path, database)
    with open_for_reading(database) as db:
        figures = gather(db, run_id, most=most)
    pictures = (
        thumbnails(figures["named"], figures["places"], as_stored(figures["config"]))
        if with_thumbnails and figures["named"]
        else {}
    )
    # What no encoding holds, half a surrogate pair in a message, say, is written as a reference.
    text = page(figures, pictures).encode("utf-8", "xmlcharrefreplace").decode()
    try:
        replace_file(os.path.realpath(path), FORMATS["html"], lambda stream: stream.write(text))
    except OSError as error:
        raise ExportPathError(
            f"{path}: cannot write the report: {error.strerror}; choose another -o"
        ) from error
    return figures


def page(figures: Row, pictures: Mapping[int, bytes | str]) -> str:
    """Returns the report as HTML. pictures: as thumbnails returns them; no page has one where they are empty."""
    environment = Environment(
        loader=PackageLoader("pipeline.html_report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "line": lambda text: one_line(str(text)),
        "words": in_words,
        "number": lambda number: f"{number:,}",
        "seconds": seconds,
        "percent": lambda share: f"{share:.1%}",
        "folder": lambda name: os.path.join(os.path.dirname(name), ""),
        "base": os.path.basename,
        "clock": clock,
        "data": lambda jpeg: base64.b64encode(jpeg).decode("ascii"),
        "moment": moment,
        "code": code,
        "faults": faults,
    }
    style = resources.files("pipeline.html_report").joinpath("report.css").read_text(encoding="utf-8")
    run = figures["run"]
    stages = used_stages(run.flow)
    return environment.get_template("report.html.jinja").render(
        its=figures,
        pictures=pictures,
        style=Markup(style),
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        config=shown(json.dumps(figures["config"], indent=2, ensure_ascii=False)),
        encoder=used_paths(run.encoder),
        uses=stages,
        busiest=max((stage for stage in stages if stage["busy"]), key=itemgetter("busy"), default=None),
        shares=SHARES | {"busy": "working"},
        over_time=_OVER_TIME,
    )


def seconds(value: float) -> str:
    """Returns a duration with three digits, such as "1.23 ms"; from 1000 s on in words."""
    if value >= 1000:
        return in_words(value)
    if value >= 1:
        return f"{value:.3g} s"
    return f"{value * 1e3:.3g} ms" if value >= 1e-3 else f"{value * 1e6:.0f} µs"


def code(text: str) -> Markup:
    """Returns a text with what stands in backticks as code; all of it is escaped."""
    parts = (
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part)
        for number, part in enumerate(text.split("`"))
    )
    return Markup("").join(parts)


def moment(stored: str | None) -> str:
    """Returns a time of the database, which is UTC, for people; "" for none."""
    return f"{datetime.fromisoformat(stored):%Y-%m-%d %H:%M:%S} UTC" if stored else ""


def clock(seconds: float) -> str:
    """Returns a time since the start as "0:05" (minutes) or "1:00:05" (hours)."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _refuse(path: str, database: str) -> None:
    """Raises ExportPathError where the report cannot be written, before anything is computed."""
    if os.path.isdir(path) or path.endswith(os.sep):
        raise ExportPathError(
            f"{path}: is a folder; name a file, such as {os.path.join(path, 'report.html')}"
        )
    target = os.path.realpath(path)
    if is_database(target, database):
        raise ExportPathError(f"{path}: is the database itself; choose another -o")
    if not os.path.isdir(os.path.dirname(target)):
        raise ExportPathError(
            f"{path}: there is no folder {os.path.dirname(target)}; make it, or choose another -o"
        )

"""Makes a run's report: one HTML file with its styles, charts and pictures inside, which loads and runs nothing.

The pages that it shows are drawn once more in worker processes: their files are not trusted.
"""

import base64
import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
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
from pipeline.html_report import charts
from pipeline.html_report.gather import CONFIDENCE_BINS, RunFigures, gather
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.reports.listing import in_words
from pipeline.reports.run_figures import faults, used_paths, used_stages
from pipeline.types import Kind, Page
from storage.database import open_for_reading
from storage.errors import ExportPathError
from storage.export.export_files import is_database, replace_file
from storage.export.formats import FORMATS
from storage.queries.run_pages import PageOutcome, PagePlace
from storage.strings.printable import one_line, shown
from storage.strings.text import real_path
from storage.types import PageError

SIDE_PX = 360
_LOOK = Look(width_px=SIDE_PX, height_px=SIDE_PX, quality=60)
_KINDS: dict[str, Kind] = {"pdf": "pdf", "image": "image"}
_WORKERS = 2
_GONE = "the file is not there any more"
_CHANGED = "the file holds something else now"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thumbnail:
    """A page as a small JPEG file, None where there is none; reason: why."""

    jpeg: bytes | None = None
    reason: str = ""


def thumbnails(
    pages: Sequence[PageOutcome], places: Mapping[int, PagePlace], config: Config
) -> dict[int, Thumbnail]:
    """Returns page id -> its thumbnail, of all the pages. config: the run's, for its limits and passwords.

    Raises: WorkersError.
    """
    pool = WorkerPool(
        max_workers=_WORKERS,
        render=RenderSettings(
            max_image_pixels=config.ingest.max_image_pixels, passwords=passwords_there(config.ingest)
        ),
        page_timeout_s=config.render.page_timeout_s,
        memory_bytes=config.render.worker_memory_mb << 20,
    )
    found = {page.page_id: _undrawn(places[page.page_id]) for page in pages}
    with pool as workers:
        # Ordered by file, so that a worker hashes and parses each but once.
        wanted = sorted(
            (page for page in pages if found[page.page_id] is None),
            key=lambda page: (places[page.page_id].path, places[page.page_id].page_index),
        )
        asked = [(page.page_id, _asked(workers, page, places[page.page_id])) for page in wanted]
        drawn = {page_id: _drawn(future.result()) for page_id, future in asked}
    return {page_id: thumbnail or drawn[page_id] for page_id, thumbnail in found.items()}


def _undrawn(place: PagePlace) -> Thumbnail | None:
    """Returns the thumbnail of a page that is not even looked at; None for one that is to be drawn."""
    if place.state == "missing":
        return Thumbnail(reason=_GONE)
    if place.state == "superseded":
        return Thumbnail(reason=_CHANGED)
    return None if place.kind in _KINDS else Thumbnail(reason="videos have no thumbnail")


def _asked(workers: WorkerPool, page: PageOutcome, place: PagePlace) -> Future[PagePicture | PageError]:
    its = Page(
        path=real_path(place.path),
        sha256=place.sha256,
        kind=_KINDS[place.kind],
        page_index=place.page_index,
        stamp=UNSEEN,
    )
    return workers.picture(its, rotation_deg=page.rotation_deg, look=_LOOK)


def _drawn(result: PagePicture | PageError) -> Thumbnail:
    if isinstance(result, PagePicture):
        return Thumbnail(jpeg=result.jpeg)
    return Thumbnail(reason=_CHANGED if result.category == "changed" else result.message)


NUM_PAGES = 12


def write_report(
    database: str,
    path: str,
    *,
    run_id: int | None = None,
    most: int = NUM_PAGES,
    with_thumbnails: bool = True,
) -> RunFigures:
    """Writes the report of a run to a file that appears, whole, at the end; returns its figures.

    run_id: None for the last run that stored a page. most: pages in each list.
    Raises: SelectionError, ExportPathError, StorageError, WorkersError.
    """
    _refuse(path, database)
    with closing(open_for_reading(database)) as db:
        figures = gather(db, run_id, most=most)
    pictures = (
        thumbnails(figures.shown_pages, figures.places, as_stored(figures.config))
        if with_thumbnails and figures.shown_pages
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


def page(figures: RunFigures, pictures: Mapping[int, Thumbnail]) -> str:
    """Returns the report as HTML. pictures: page id -> thumbnail; no page has one where it is empty."""
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
        "data": lambda jpeg: base64.b64encode(jpeg).decode("ascii"),
        "moment": moment,
        "code": code,
        "faults": faults,
    }
    style = resources.files("pipeline.html_report").joinpath("report.css").read_text(encoding="utf-8")
    return environment.get_template("report.html.jinja").render(
        its=figures,
        pictures=pictures,
        style=Markup(style),
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        config=shown(json.dumps(figures.config, indent=2, ensure_ascii=False)),
        charts=_charts(figures),
        encoder=used_paths(figures.run.encoder),
        busiest=max(
            (stage for stage in used_stages(figures.run.flow) if stage["busy"]),
            key=itemgetter("busy"),
            default=None,
        ),
        uses=charts.USES,
        over_time=charts.PAGES_OVER_TIME,
        total_s=sum(stage.total_s for stage in figures.stages),
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


def _charts(figures: RunFigures) -> dict[str, Markup]:
    """Returns the charts by name; those without anything to show are left out."""
    drawn = {}
    if figures.statuses:
        drawn["statuses"] = charts.status_bar(figures.statuses)
    if figures.intervals:
        drawn["throughput"] = charts.throughput(figures.intervals, figures.interval_s)
    if stages := used_stages(figures.run.flow):
        drawn["stages"] = charts.stage_uses(stages)
    if any(figures.confidences):
        assert len(figures.confidences) == CONFIDENCE_BINS
        drawn["confidences"] = charts.confidences(figures.confidences)
    return drawn


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

"""Makes a run's report: one HTML file with its styles, charts and pictures inside, which loads and runs nothing."""

import base64
import json
import os
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from importlib import resources
from operator import itemgetter

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from pipeline.config.sources import as_stored
from pipeline.html_report import charts
from pipeline.html_report.gather import CONFIDENCE_BINS, RunFigures, gather
from pipeline.html_report.thumbnails import Thumbnail, thumbnails
from pipeline.reports.listing import in_words
from pipeline.reports.run_figures import faults, used_paths, used_stages
from storage.database import open_for_reading
from storage.errors import ExportPathError
from storage.export.export_files import is_database, replace_file
from storage.export.formats import FORMATS
from storage.strings.printable import one_line, shown

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

"""Draws a report's charts as SVG elements for its page, without scripts or styles: report.css colours them.

pygal lays them out. What it adds for its own scripts is taken out again, and each bar's value becomes its title, which
browsers show beside the pointer and read aloud.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pygal
from markupsafe import Markup
from pygal.style import Style

from storage.queries.run_pages import Interval
from storage.strings.printable import one_line

_WIDTH_PX = 960
_STYLE = Style(label_font_size=13, major_label_font_size=13, font_family="sans-serif", value_font_size=13)
# Names of series in report.css, each with its colour, and what they mean.
USES = {"busy": "working", "waiting_input": "waiting for input", "waiting_output": "waiting for room"}
PAGES_OVER_TIME = {"ok": "read", "embedded": "text layer taken", "doubtful": "needs a look"}
_MINUTE_S = 60.0
_TIME_LABELS = 10


def status_bar(statuses: Mapping[str, int]) -> Markup:
    """Returns one bar with a part for each status. statuses: status -> number of pages."""
    chart = pygal.HorizontalStackedBar(
        **_options(50, margin=0, spacing=0),
        show_y_labels=False,
        show_x_labels=False,
        range=(0, sum(statuses.values())),
    )
    chart.value_formatter = lambda pages: f"{pages:,.0f}"
    for status, number in statuses.items():
        chart.add(one_line(status), [number])
    return _drawn(chart, list(statuses), "Pages by status")


def throughput(intervals: Sequence[Interval], interval_s: float) -> Markup:
    """Returns pages a minute over the time of a run, a bar for each interval."""
    chart = pygal.StackedBar(**_options(260, spacing=2), show_minor_x_labels=False)
    chart.value_formatter = lambda rate: f"{rate:,.4g}"
    every = max(1, -(-len(intervals) // _TIME_LABELS))
    labels = [in_hours(interval.start_s) for interval in intervals]
    chart.x_labels, chart.x_labels_major = labels, labels[::every]
    counts = {
        "ok": [interval.num_read for interval in intervals],
        "embedded": [interval.num_embedded for interval in intervals],
        "doubtful": [interval.num_unfine for interval in intervals],
    }
    for name, numbers in counts.items():
        chart.add(PAGES_OVER_TIME[name], [number * _MINUTE_S / interval_s for number in numbers])
    return _drawn(chart, list(counts), "Pages a minute over the run's time")


def stage_uses(stages: Sequence[Mapping[str, Any]]) -> Markup:
    """Returns a bar for each stage: the shares of the run's time that it worked and waited, topmost first."""
    chart = pygal.HorizontalStackedBar(**_options(50 + 34 * len(stages), spacing=6), range=(0, 1))
    chart.value_formatter = lambda share: f"{share:.1%}"
    chart.y_labels = [0, 0.25, 0.5, 0.75, 1]
    chart.formatter = chart.value_formatter
    chart.x_labels = [one_line(str(stage["name"])) for stage in reversed(stages)]
    for name, words in USES.items():
        chart.add(words, [stage[name] for stage in reversed(stages)])
    return _drawn(chart, list(USES), "How busy the stages were")


def confidences(bins: Sequence[int]) -> Markup:
    """Returns how many pages have a confidence in each part of 0 to 1."""
    chart = pygal.Bar(**_options(220, spacing=2))
    chart.value_formatter = lambda pages: f"{pages:,.0f}"
    chart.x_labels = [f"{number / len(bins):.2f}" for number in range(len(bins))]
    chart.add("pages", list(bins))
    return _drawn(chart, ["ok"], "Pages by confidence")


def in_hours(seconds: float) -> str:
    """Returns a time since the start as "0:05" (minutes) or "1:00:05" (hours)."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _options(height_px: int, **changes: Any) -> dict[str, Any]:
    return {
        "width": _WIDTH_PX,
        "height": height_px,
        "style": _STYLE,
        "css": [],
        "js": [],
        "show_legend": False,
        "no_prefix": True,
        "disable_xml_declaration": True,
        "margin": 8,
        "min_scale": 2,
        "truncate_label": -1,
        **changes,
    }


def _drawn(chart: Any, names: Sequence[str], title: str) -> Markup:
    """Returns the chart as an element. names: of its series, for their colours."""
    series = [str(options["title"]) for _, options in chart.raw_series]

    def cleaned(root: Any) -> Any:
        return _cleaned(root, dict(enumerate(zip(names, series, strict=True))), title)

    chart.add_xml_filter(cleaned)
    return Markup(chart.render(is_unicode=True))  # serialised from a tree, so that all text in it is escaped


def _cleaned(root: Any, series: Mapping[int, tuple[str, str]], title: str) -> Any:
    """Returns the chart's tree without definitions and overlays. series: number -> name for its colour, and title."""
    root.attrib.pop("id", None)
    root.set("role", "img")
    for parent in list(root.iter()):
        for child in list(parent):
            kind, classes = _kind(child), child.get("class", "")
            if kind in ("", "defs") or "overlay" in classes or "background" in classes.split():
                parent.remove(child)
            elif parent is root and kind == "title":
                child.text = title
            elif kind == "title":
                parent.remove(child)
    for group in root.iter():
        found = re.fullmatch(r"series serie-\d+ color-(\d+)", group.get("class", ""))
        if found:
            name, words = series[int(found[1])]
            group.set("class", f"series is-{name}")
            for bar in group.iter():
                if bar.get("class") == "bar":
                    _tell(bar, words)
    return root


def _tell(bar: Any, series: str) -> None:
    """Puts a bar's value into its title, in place of the descriptions for scripts."""
    told = {child.get("class"): child.text for child in bar if _kind(child) == "desc"}
    for child in list(bar):
        if _kind(child) == "desc":
            bar.remove(child)
        elif _kind(child) == "rect":
            child.attrib.pop("class", None)
    place = f"{told['x_label']}: " if told.get("x_label") else ""
    title = bar.makeelement("title", {})
    title.text = f"{place}{series} {told['value']}"
    bar.append(title)


def _kind(element: Any) -> str:
    """Returns an element's name without its namespace, "" for a comment. pygal uses lxml where that is installed."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""

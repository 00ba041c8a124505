"""Charts are plain SVG whose bars are as long as their numbers, whichever XML library pygal has found."""

from collections.abc import Iterator
from xml.etree import ElementTree

import pytest
from pygal.etree import etree

from pipeline.html_report import charts
from storage.queries.run_pages import Interval

SVG = "{http://www.w3.org/2000/svg}"
STAGES = [
    {"name": "render", "busy": 0.25, "waiting_input": 0.5, "waiting_output": 0.25},
    {"name": "<b>&lines", "busy": 0.5, "waiting_input": 0.0, "waiting_output": 0.0},
]


@pytest.fixture(params=["to_etree", "to_lxml"], autouse=True)
def library(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.param == "to_lxml":
        pytest.importorskip("lxml")
    had_lxml = etree.lxml
    getattr(etree, request.param)()
    yield
    (etree.to_lxml if had_lxml else etree.to_etree)()


def bars(svg: str) -> dict[str, list[tuple[str, float, float]]]:
    """Returns for each series, by its name for the colour, the title, width and height of each bar."""
    found = {}
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        name = group.get("class", "")
        if name.startswith("series "):
            found[name.removeprefix("series is-")] = [
                (
                    bar.findtext(f"{SVG}title") or "",
                    *(float(bar.find(f"{SVG}rect").get(side, 0)) for side in ("width", "height")),
                )  # type: ignore[union-attr]
                for bar in group.iter(f"{SVG}g")
                if bar.get("class") == "bar"
            ]
    return found


def test_statuses_are_parts_of_one_bar() -> None:
    found = bars(charts.status_bar({"ok": 30, "failed": 10}))
    (ok,), (failed,) = found["ok"], found["failed"]
    assert (ok[0], failed[0]) == ("ok 30", "failed 10")
    assert ok[1] == pytest.approx(3 * failed[1])


def test_throughput_is_a_minute() -> None:
    intervals = [
        Interval(start_s=10.0 * number, num_read=number, num_embedded=2, num_unfine=0) for number in range(30)
    ]
    found = bars(charts.throughput(intervals, 10.0))
    assert [title for title, _, _ in found["ok"][:3]] == ["0:00: read 0", "0:10: read 6", "0:20: read 12"]
    assert found["ok"][29][2] == pytest.approx(29 * found["ok"][1][2])
    assert {title.partition(" ")[2] for title, _, _ in found["embedded"]} == {"text layer taken 12"}


def test_stages_are_shares_of_the_time() -> None:
    found = bars(charts.stage_uses(STAGES))
    assert [title for title, _, _ in found["busy"]] == ["<b>&lines: working 50.0%", "render: working 25.0%"]
    assert found["busy"][0][1] == pytest.approx(2 * found["busy"][1][1])
    assert found["waiting_input"][1][1] == pytest.approx(found["busy"][0][1])


def test_charts_bring_no_script_no_style_and_no_address() -> None:
    drawn = [
        charts.status_bar({"ok": 1}),
        charts.throughput([Interval(start_s=0, num_read=1, num_embedded=0, num_unfine=0)], 1.0),
        charts.stage_uses(STAGES),
        charts.confidences([0, 3, 1]),
    ]
    for svg in drawn:
        kinds = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(svg).iter()}
        assert kinds <= {"svg", "g", "rect", "title", "path", "text"}
        assert "href" not in svg
        assert "<b>" not in svg
        assert "http" not in svg.replace("http://www.w3.org/2000/svg", "").replace(
            "http://www.w3.org/1999/xlink", ""
        )


def test_times_are_minutes_or_hours() -> None:
    assert [charts.in_hours(seconds) for seconds in (0, 65.2, 3600, 36061)] == [
        "0:00",
        "1:05",
        "1:00:00",
        "10:01:01",
    ]

from collections import Counter
from typing import Any

import pytest

from pipeline.errors import ExitCode
from pipeline.meter import StageUse
from pipeline.reports.summary import ModelFigures, RunSummary


def use(name: str, busy: float) -> StageUse:
    return StageUse(name=name, busy=busy, waiting_input=0.9 - busy, waiting_output=0.0)


STAGES = [use("render", 0.1), use("encode", 0.25), use("decode", 0.75), use("store", 0.0)]


@pytest.mark.parametrize(
    ("summary", "code"),
    [
        (RunSummary(database="a.db"), ExitCode.OK),
        (RunSummary(database="a.db", pages=Counter(ok=3, blank=1)), ExitCode.OK),
        (RunSummary(database="a.db", documents=Counter(skipped=3), num_left_out=7), ExitCode.OK),
        (RunSummary(database="a.db", num_done_before=3, num_missing=2), ExitCode.OK),
        (RunSummary(database="a.db", pages=Counter(ok=3, repeated=1)), ExitCode.INCOMPLETE),
        (RunSummary(database="a.db", pages=Counter(truncated=1)), ExitCode.INCOMPLETE),
        (RunSummary(database="a.db", pages=Counter(failed=1)), ExitCode.INCOMPLETE),
        (RunSummary(database="a.db", documents=Counter(encrypted=1)), ExitCode.INCOMPLETE),
        (RunSummary(database="a.db", documents=Counter(broken=1)), ExitCode.INCOMPLETE),
        (RunSummary(database="a.db", num_given_up=1), ExitCode.INCOMPLETE),
        (
            RunSummary(database="a.db", documents=Counter(ok=3), num_copies=1, num_beside=2),
            ExitCode.INCOMPLETE,
        ),
        (RunSummary(database="a.db", documents=Counter(ok=3), num_beside=2), ExitCode.OK),
        (RunSummary(database="a.db", pages=Counter(ok=3, doubtful=1)), ExitCode.INCOMPLETE),
        (RunSummary(database="a.db", num_done_before=3, num_doubtful_before=1), ExitCode.INCOMPLETE),
        (RunSummary(database="a.db", pages=Counter(failed=1), stopped="SIGINT"), ExitCode.STOPPED),
    ],
)
def test_exit_codes(summary: RunSummary, code: ExitCode) -> None:
    assert summary.exit_code == code


def test_lines_say_what_happened_and_where_the_results_are() -> None:
    text = "\n".join(
        RunSummary(
            database="my.db",
            pages=Counter(ok=19, failed=1),
            documents=Counter(ok=2, broken=1),
            wall_s=10.0,
            did=ModelFigures(load_s=2.0),
            stages=STAGES,
        ).lines(verbose=True)
    )
    assert "pages: 19 ok, 1 failed (2.00 pages/s)" in text
    assert "documents: 2 ok, 1 broken" in text
    expected = "bottleneck: decode, busy for 75% of 10.0 s (render 10%, encode 25%, store 0%)"
    assert f"{expected}, loading the model 2.0 s" in text
    assert "ocrbatch export --db my.db --format md" in text
    assert "ocrbatch view --db my.db" in text


def test_lines_say_how_many_pages_documents_have_that_have_none_of_those_asked_for() -> None:
    summary = RunSummary(database="a.db", documents=Counter(ok=2), num_beside=1, beside=[("/in/a.pdf", 3)])
    text = "\n".join(summary.lines(verbose=False))
    assert "none of the pages that were asked for: 1\n  /in/a.pdf: 3 in all\n" in text


@pytest.mark.parametrize(
    ("pages", "stages"),
    [(Counter(ok=1), [use("render", 0.0), use("store", 0.0)]), (Counter(), STAGES)],
)
def test_a_run_that_did_nothing_has_no_bottleneck(pages: Counter[str], stages: list[StageUse]) -> None:
    idle = RunSummary(database="a.db", pages=pages, wall_s=1.0, stages=stages)
    assert not any("bottleneck" in line for line in idle.lines(verbose=True))


def test_the_database_keeps_the_stages_the_tokens_and_the_gpu() -> None:
    summary = RunSummary(database="a.db", stages=STAGES[:1], did=ModelFigures(num_tokens=70, gpu_busy=0.5))
    assert summary.flow() == {
        "stages": [{"name": "render", "busy": 0.1, "waiting_input": 0.8, "waiting_output": 0.0}],
        "num_tokens": 70,
        "gpu_busy": 0.5,
    }


def test_doubtful_pages_are_counted_and_where_the_reasons_are() -> None:
    lines = RunSummary(database="my.db", pages=Counter(ok=3, doubtful=2), num_doubtful_before=1).lines()
    assert "pages: 3 ok, 2 doubtful" in lines
    assert "pages in doubt since an earlier run: 1" in lines
    assert any("`ocrbatch status --files --db my.db` says why" in line for line in lines)
    assert not any("doubt" in line for line in RunSummary(database="a.db", pages=Counter(ok=2)).lines())


@pytest.mark.parametrize(
    ("name", "key", "line"),
    [
        ("num_low_confidence", "pages_low_confidence", "pages with low confidence: 2"),
        ("num_rescued", "pages_rescued", "pages rescued by another reading or the text layer: 2"),
        ("num_unread", "pages_unread", "pages that needed no reading, as their text layers were taken: 2"),
        ("num_kept", "pages_kept", "pages kept as read with other settings: 2"),
    ],
)
def test_what_is_no_fault_is_counted_and_told_where_there_is_any(name: str, key: str, line: str) -> None:
    summary = RunSummary(database="a.db", pages=Counter(ok=3), **{name: 2})
    assert (summary.counts()[key], summary.exit_code) == (2, ExitCode.OK)
    assert line in summary.lines()
    assert line[:-1] not in "\n".join(RunSummary(database="a.db", pages=Counter(ok=3)).lines())


@pytest.mark.parametrize(
    ("values", "ending"),
    [
        ({"load_s": 15.0, "capture_s": 12.0}, ", loading the model 15.0 s (encoder graphs 12.0 s of it)"),
        ({"gpu_busy": 0.97}, "; no kernel ran on the GPU for 3%"),
    ],
)
def test_the_bottleneck_s_line_tells_what_else_took_time(values: dict[str, Any], ending: str) -> None:
    summary = RunSummary(
        database="a.db", pages=Counter(ok=1), wall_s=20.0, stages=STAGES, did=ModelFigures(**values)
    )
    (line,) = (line for line in summary.lines(verbose=True) if line.startswith("bottleneck"))
    assert line.endswith(ending)


def test_lines_of_an_empty_and_of_a_stopped_run() -> None:
    assert RunSummary(database="a.db").lines()[:2] == ["pages: none to read", "documents: none found"]
    stopped = RunSummary(database="a.db", stopped="SIGTERM").lines()
    assert stopped[0].startswith("stopped before the end: SIGTERM; run it again")

"""What a run's row tells, as the lines of `status`: its stages, tokens and GPU, and the encoder's graphs."""

from typing import Any

import pytest

from encoders.graphs.stats import PathStats
from pipeline.reports.run_figures import run_lines
from pipeline.reports.status import status_lines
from storage.queries.statistics import RunStatus, Status

WON = PathStats(
    hits=1180,
    misses=12,
    eager=12,
    replays=90,
    replayed_tokens=118_000,
    padding_tokens=3_900,
    capture_seconds=8.1,
    graph_bytes=1_288_490_189,
    budgets={"640": [100, 200]},
)


WRONG = PathStats(hits=5, eager=5, replays=1, replayed_tokens=500, parity_failures=1, nan_traps=2)
SHORT = PathStats(
    eager=5,
    left_out={"640": [3200, 1600], "1024": [256]},
    split_batches=3,
    nonfinite_batches=1,
    skipped_checks=4,
)


@pytest.mark.parametrize(
    ("name", "stats", "line"),
    [
        ("local", WON, "1,204 tiles: 98% replayed, 1% missed, 1% eager; padding 3.2%; graphs 1.2 GiB, captured in "
         "8.1 s"),
        ("global", PathStats(eager=31, capture_seconds=1e-5, budgets={"1024": []}), "31 views: all eager"),
        ("local", PathStats(misses=1), "1 tile: all missed"),
        ("local", PathStats(hits=999, misses=1), "1,000 tiles: >99% replayed, <1% missed"),
        ("local", WRONG, "10 tiles: 50% replayed, 50% eager; padding 0.0%; graphs 1 unlike eager, 2 not finite"),
        ("local", SHORT, "5 tiles: all eager; graphs 3 left out, 4 not compared for lack of memory; "
         "batches 3 halved for lack of memory, 1 not finite"),
    ],
)  # fmt: skip
def test_a_line_a_path_says_what_became_of_its_views(name: str, stats: PathStats, line: str) -> None:
    found = {name: stats.summary(), "without views": PathStats().summary()}
    assert list(run_lines(None, found)) == [f"encoder {name}: {line}"]


def test_status_shows_them_below_their_run() -> None:
    run = RunStatus(
        id=7, state="finished", started_at="2026-01-01", finished_at="2026-01-01", seconds=1.0, exit_code=0,
        model="small", settings_hash="s", num_pages=1, pages_per_s=1.0, counts={}, encoder={"local": WON.summary()},
    )  # fmt: skip
    counts: dict[str, Any] = {
        "pages": {},
        "documents": {},
        "files": {},
        "left_out_pages": 0,
        "num_attempts": 1,
    }
    shown = status_lines(Status(database="a.db", runs=[run], stages=[], **counts))
    number = next(number for number, line in enumerate(shown) if line.startswith("  7: "))
    assert shown[number + 1].startswith("    encoder local: 1,204 tiles")


def stage(name: str, busy: float, waiting_input: float = 0.0, waiting_output: float = 0.0) -> dict[str, Any]:
    return {"name": name, "busy": busy, "waiting_input": waiting_input, "waiting_output": waiting_output}


def test_a_line_a_stage_under_one_heading() -> None:
    lines = list(run_lines({"stages": [stage("render", 0.123, 0.8, 0.05), stage("decode", 1.0)]}))
    assert len(lines) == 3
    assert lines[0].split() == ["stage", "busy", "waiting", "for", "input", "waiting", "for", "room"]
    assert [line.split() for line in lines[1:]] == [
        ["render", "12.3%", "80.0%", "5.0%"],
        ["decode", "100.0%", "0.0%", "0.0%"],
    ]
    assert len({len(line) for line in lines}) == 1, "columns are aligned"


def test_stages_that_never_began_are_left_out() -> None:
    assert list(run_lines({"stages": [stage("encode", 0.0)]})) == []
    assert list(run_lines({})) == []
    lines = list(run_lines({"stages": [stage("encode", 0.0), stage("store", 0.0, 1.0)]}))
    assert [line.split()[0] for line in lines] == ["stage", "store"]


@pytest.mark.parametrize(
    ("flow", "line"),
    [
        ({"num_tokens": 12345, "gpu_busy": None}, "12,345 tokens"),
        (
            {"num_tokens": 3, "num_steps": 1, "stored_after_median_s": 0.1},
            "3 tokens",
        ),  # of an earlier version
        ({"num_tokens": 0, "gpu_busy": None}, None),
        ({"gpu_busy": 0.0}, "a kernel ran on the GPU for 0.0% of the time since the model was loaded"),
        (
            {"num_tokens": 8, "gpu_busy": 0.971},
            "8 tokens; a kernel ran on the GPU for 97.1% of the time since the model was loaded",
        ),
    ],
)
def test_tokens_and_gpu(flow: dict[str, Any], line: str | None) -> None:
    assert list(run_lines(flow)) == ([] if line is None else [line])

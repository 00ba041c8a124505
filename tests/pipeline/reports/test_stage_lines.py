"""The table of stages that `status` prints."""

from typing import Any

import pytest

from pipeline.reports.stage_lines import flow_lines


def stage(name: str, busy: float, waiting_input: float = 0.0, waiting_output: float = 0.0) -> dict[str, Any]:
    return {"name": name, "busy": busy, "waiting_input": waiting_input, "waiting_output": waiting_output}


def test_a_line_a_stage_under_one_heading() -> None:
    lines = list(flow_lines({"stages": [stage("render", 0.123, 0.8, 0.05), stage("decode", 1.0)]}))
    assert len(lines) == 3
    assert lines[0].split() == ["stage", "busy", "waiting", "for", "input", "waiting", "for", "room"]
    assert [line.split() for line in lines[1:]] == [
        ["render", "12.3%", "80.0%", "5.0%"],
        ["decode", "100.0%", "0.0%", "0.0%"],
    ]
    assert len({len(line) for line in lines}) == 1, "columns are aligned"


def test_stages_that_never_began_are_left_out() -> None:
    assert list(flow_lines({"stages": [stage("encode", 0.0)]})) == []
    assert list(flow_lines({})) == []
    lines = list(flow_lines({"stages": [stage("encode", 0.0), stage("store", 0.0, 1.0)]}))
    assert [line.split()[0] for line in lines] == ["stage", "store"]


@pytest.mark.parametrize(
    ("flow", "line"),
    [
        ({"num_tokens": 12345, "num_steps": 5000, "gpu_busy": None}, "12,345 tokens, 2.5 a step"),
        ({"num_tokens": 3, "num_steps": 0}, "3 tokens, 3.0 a step"),
        ({"num_tokens": 0, "num_steps": 0, "gpu_busy": None}, None),
        ({"gpu_busy": 0.0}, "a kernel ran on the GPU for 0.0% of the time since the model was loaded"),
        (
            {"num_tokens": 8, "num_steps": 4, "gpu_busy": 0.971},
            "8 tokens, 2.0 a step; a kernel ran on the GPU for 97.1% of the time since the model was loaded",
        ),
    ],
)
def test_tokens_and_gpu(flow: dict[str, Any], line: str | None) -> None:
    assert list(flow_lines(flow)) == ([] if line is None else [line])

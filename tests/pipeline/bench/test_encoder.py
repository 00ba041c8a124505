"""`ocrbatch bench encoder` on the tiny model: the arms agree, and the table says what was measured."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ocr.checkpoint import save
from pipeline.bench.metrics import ArmTimes, Spread, comparison, table
from pipeline.cli import cli
from tests.ocr.tiny import tiny_model, tiny_tokenizer


def test_spreads_are_in_milliseconds() -> None:
    spread = Spread.of([0.001, 0.002, 0.006])
    assert (spread.mean, spread.median) == pytest.approx((3.0, 2.0))
    assert spread.p99 == pytest.approx(5.92)


def test_the_table_adds_up() -> None:
    arm = ArmTimes(name="eager", calls=4)
    arm.add({"render": 0.010, "tile": 0.020, "encoder_forward": 0.100})
    arm.add({"render": 0.030, "tile": 0.020, "encoder_forward": 0.300})
    rows = arm.spreads()
    assert rows["preprocessor_total_ms"].mean == pytest.approx(40.0)
    assert rows["end_to_end_ms"].median == pytest.approx(240.0)
    lines = list(table(arm))
    assert "Summary: 4 total encoder calls across 2 requests." in lines
    assert max(map(len, lines)) <= 80
    slow = ArmTimes(name="reference")
    slow.add({"encoder_forward": 0.4})
    assert list(comparison([slow, arm]))[-1].split() == ["eager", "200.00", "200.00", "298.00", "2.00x"]


def test_arms_run_and_agree(tmp_path: Path) -> None:
    save(tiny_model(), tmp_path / "tiny", tokenizer=tiny_tokenizer())
    output = tmp_path / "bench.json"
    result = CliRunner().invoke(
        cli,
        ["bench", "encoder", "--model", str(tmp_path / "tiny"), "--device", "cpu", "--num-prompts", "3",
         "--num-warmups", "1", "--batch-size", "2", "--buckets", "{(224, 224): 0.5, (700, 1300): 0.5}",
         "--output-json", str(output)],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    found = json.loads(output.read_text())
    assert [arm["arm"] for arm in found["arms"]] == ["reference", "eager"]
    assert all(arm["num_requests"] == 3 for arm in found["arms"])
    assert found["relative_errors"]["eager"] < 1e-4
    assert "Encoder forward (ms)" in result.output
    assert "eager: relative error to reference" in result.output


def test_an_unknown_arm_is_refused() -> None:
    result = CliRunner().invoke(cli, ["bench", "encoder", "--arms", "eager,magic"])
    assert "magic" in str(result.exception)

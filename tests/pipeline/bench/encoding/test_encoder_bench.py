"""`ocrbatch bench encoder` on the tiny model: the arms agree, and the table says what was measured."""

import json
from pathlib import Path
from typing import Literal

import pytest
from click.testing import CliRunner

from encoders.graphs.settings import GraphSettings
from encoders.graphs.stats import PathStats
from pipeline.bench.encoding.encoder_arms import build, path_statistics
from pipeline.bench.encoding.latency_table import ArmTimes, comparison, paths, spread, table
from pipeline.bench.encoding.requests import EncoderRequest
from pipeline.bench.encoding.subjects import deepseek_subject
from pipeline.cli.main import cli
from tests.encoders.deepseek.test_deep_encoder import random_page
from tests.encoders.graphs.eager_capture import Winning
from tests.ocr.saving import save
from tests.ocr.tiny import relative_error, tiny_model, tiny_tokenizer
from tests.pipeline.device.fakes import rendered


def test_spreads_are_in_milliseconds() -> None:
    found = spread([0.001, 0.002, 0.006])
    assert (found["mean"], found["median"]) == pytest.approx((3.0, 2.0))
    assert found["p99"] == pytest.approx(5.92)


def test_the_table_adds_up() -> None:
    arm = ArmTimes(name="eager")
    arm.add_batch(0.100, [request({"render": 0.010, "tile": 0.020})])
    arm.add_batch(0.300, [request({"render": 0.030, "tile": 0.020})])
    rows = arm.values(4, {})
    assert rows["preprocessor_total_ms"]["mean"] == pytest.approx(40.0)
    assert rows["end_to_end_ms"]["median"] == pytest.approx(240.0)
    lines = list(table(rows))
    assert "Summary: 4 total encoder calls across 2 requests." in lines
    assert max(map(len, lines)) <= 80
    slow = ArmTimes(name="reference")
    slow.add_batch(0.4, [request({})])
    assert list(comparison([slow.values(1, {}), rows]))[-1].split() == [
        "eager",
        "200.00",
        "200.00",
        "298.00",
        "2.00x",
    ]


def request(seconds: dict[str, float], num_items: int = 1) -> EncoderRequest:
    return EncoderRequest(items=(rendered(0).views,) * num_items, seconds=seconds)


def test_a_requests_part_of_a_batch_is_as_large_as_its_items() -> None:
    arm = ArmTimes(name="eager", percentiles=(50.0, 99.5))
    arm.add_batch(0.4, [request({}, 3), request({}, 1)])
    values = arm.values(1, {})
    assert arm.stages["encoder_forward"] == pytest.approx([0.3, 0.1])
    assert values["page_ms"] == pytest.approx(100.0)
    assert "queueing_ms" not in values
    found = values["encoder_forward_ms"]
    assert list(found) == ["mean", "median", "std", "p50", "p99.5"]
    assert found["p50"] == found["median"] == pytest.approx(200.0)
    lines = list(table(values))
    assert lines[4].split() == ["Stage", "Mean", "Median", "Std", "P50.0", "P99.5"]
    assert list(comparison([values]))[1].split()[-2:] == ["P99.5", "Speed"]


def test_latency_counts_the_wait_and_the_whole_batch() -> None:
    arm = ArmTimes(name="eager")
    arm.add_batch(0.4, [request({"tile": 0.1}), request({"tile": 0.2})], [0.5, 0.0])
    values = arm.values(1, {})
    assert values["queueing_ms"]["mean"] == pytest.approx(250.0)
    assert values["encoder_forward_ms"]["mean"] == pytest.approx(400.0), "its tokens come with the batch's"
    assert values["page_ms"] == pytest.approx(200.0)
    assert values["end_to_end_ms"]["mean"] == pytest.approx(800.0)
    assert any(line.startswith("queueing_ms") for line in table(values))


@pytest.mark.slow
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
    assert [arm["arm"] for arm in found["arms"]] == ["reference", "eager", "graph"]
    assert all(arm["num_requests"] == 3 for arm in found["arms"])
    assert found["parity"]["eager to reference"] < 1e-4
    assert found["parity"]["graph to reference"] < 1e-4
    assert [arm["num_encoder_calls"] for arm in found["arms"]][1:] == [3, 3], (
        "the tiles of two pages go together"
    )
    statistics = found["arms"][2]["statistics"]
    assert statistics["global"]["eager"] == 3, "the warm-up does not count"
    assert len(found["grids"]) == 3
    assert all(arm["page_ms"] > 0 for arm in found["arms"])
    assert "graph, encoder local" in result.output
    assert "Encoder forward (ms)" in result.output
    assert "Parity, eager to reference: largest relative difference" in result.output


def test_an_unknown_arm_is_refused() -> None:
    result = CliRunner().invoke(cli, ["bench", "encoder", "--arms", "eager,magic"])
    assert "magic" in str(result.exception)


@pytest.mark.slow
@pytest.mark.parametrize(("budgets", "sizes"), [(None, [100, 200, 400]), ("auto", [400])])
def test_the_graph_arm_counts_what_is_measured(budgets: Literal["auto"] | None, sizes: list[int]) -> None:
    settings = GraphSettings(max_items=4, budgets=budgets)
    arm = build("graph", deepseek_subject(tiny_model()), settings, Winning())
    pages = [random_page(seed, grid=(3, 1)) for seed in range(2)]
    arm.prepare([pages[:1], pages[1:]])
    arm.encode(pages)
    arm.start()
    assert arm.calls == 0
    tokens = arm.encode(pages[:1])
    stats = arm.statistics()
    assert (stats["global"]["hits"], stats["local"]["hits"], arm.calls) == (1, 3, 2)
    assert stats["local"]["budgets"]["640"] == sizes
    assert stats["local"]["replayed_tokens"] == 300
    expected = build("eager", deepseek_subject(tiny_model()), settings).encode(pages[:1])
    assert relative_error(tokens[0], expected[0]) < 1e-5
    arm.close()


def test_graphs_are_reported_by_path() -> None:
    stats = PathStats(hits=6, replays=1, replayed_tokens=600, padding_tokens=200, budgets={"640": [100, 800]})
    arm = ArmTimes(name="graph")
    arm.add_batch(0.2, [request({}), request({})])
    lines = list(paths([arm.values(1, {"local": path_statistics(stats, {"hits": 2})})]))
    assert lines[2].split() == ["graph", "100.00", "1"]
    assert lines[4] == "graph, encoder local: 4 tiles: all replayed; padding 25.0%"
    assert lines[-1] == "graph, graphs in use on local at 640 px, tokens: 100, 800"
    assert max(map(len, lines)) <= 80

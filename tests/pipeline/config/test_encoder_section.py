from pathlib import Path
from typing import Any

import pytest

from encoders.graphs.errors import GraphSettingsError
from pipeline.config.encoder_section import config_error, graph_settings
from pipeline.config.schema import tile_mode
from pipeline.config.sources import load
from pipeline.errors import ConfigError, ExitCode, exit_code
from pipeline.reports.progress import Silent
from pipeline.run.runner import run
from pipeline.stop import Stop
from tests.pipeline.checkpoints import PAGE_MODEL


@pytest.mark.parametrize(
    ("text", "expected"), [("off", "off"), ("on", "on"), ("auto", "auto"), ("'off'", "off")]
)
def test_a_bare_switch_is_a_word(tmp_path: Path, text: str, expected: str) -> None:
    file = tmp_path / "my.yaml"
    file.write_text(f"encoder: {{graphs: {text}}}", encoding="utf-8")
    assert load(str(file)).encoder.graphs == expected


@pytest.mark.parametrize(
    ("text", "num_bytes"),
    [
        ("8GiB", 8 << 30),
        ("500MB", 500_000_000),
        ("1.5 gib", 3 << 29),
        ("64B", 64),
        ("4096", 4096),
        ("null", None),
    ],
)
def test_memory_is_a_number_of_bytes_or_a_size(text: str, num_bytes: int | None) -> None:
    assert load(None, [f"encoder.memory_limit={text}"]).encoder.memory_limit == num_bytes


@pytest.mark.parametrize(
    ("text", "key", "remedy"),
    [
        ("encoder.graphs=1", "encoder.graphs", "'auto', 'on' or 'off'"),
        ("encoder.max_items=0", "encoder.max_items", "greater than or equal to 1"),
        ("encoder.dtype=float16", "encoder.dtype", "'bfloat16'"),
        ("encoder.memory_limit=8 apples", "encoder.memory_limit", "such as 8GiB"),
        ("encoder.memory_limit=0", "encoder.memory_limit", "null for no limit"),
        ("encoder.memory_limit=0GiB", "encoder.memory_limit", "null for no limit"),
        ("encoder.memory_limit='8'", "encoder.memory_limit", "such as 8GiB"),
        ("encoder.memory_limit=true", "encoder.memory_limit", "such as 8GiB"),
        ("encoder.budgets=off", "encoder.budgets", "auto, null, or a list"),
        ("encoder.budgets={}", "encoder.budgets", "auto, null, or a list"),
        ("encoder.budgets.globl=[256]", "encoder.budgets", "no path globl; write one of global, local"),
        ("encoder.budgets.local=100", "encoder.budgets", r"write local: \[...\]"),
        ("encoder.budgets.local=[]", "encoder.budgets", "local is empty"),
        ("encoder.budgets.local=[200, 100]", "encoder.budgets", r"write \[100, 200\]"),
        ("encoder.budgets.local=[100, x]", "encoder.budgets", "'x' is not a positive whole number"),
    ],
)
def test_what_cannot_be_meant_is_named_with_a_remedy(text: str, key: str, remedy: str) -> None:
    with pytest.raises(ConfigError, match=rf"^--set {text.split('=')[0]}.*: {key}: .*{remedy}"):
        load(None, [text])


def test_the_manager_is_told_what_was_set() -> None:
    config = load(
        None,
        [
            "encoder.graphs=off",
            "encoder.budgets={global: [256, 1024]}",
            "encoder.max_items=8",
            "encoder.memory_limit=1GiB",
        ],
    ).encoder
    settings = graph_settings(config, "gundam")
    assert (settings.graphs, settings.max_items, settings.memory_limit) == ("off", 8, 1 << 30)
    assert settings.budgets_of("global") == [256, 1024]
    assert settings.budgets_of("local") is None
    assert graph_settings(load(None, ["encoder.budgets=auto"]).encoder, "base").budgets == "auto"


@pytest.mark.parametrize(("mode", "nearest"), [("gundam", 256), ("tiny", 320), ("large", 400)])
def test_budgets_fit_the_views_of_the_mode(mode: str, nearest: int) -> None:
    config = load(None, ["encoder.budgets.global=[300]", f"tile.mode={mode}"])
    with pytest.raises(
        ConfigError, match=rf"^encoder\.budgets\.global: 300 is not.*nearest is {nearest}$"
    ) as caught:
        graph_settings(config.encoder, config.tile.mode)
    assert exit_code(caught.value) == ExitCode.USAGE
    fitting = load(None, ["encoder.budgets.global=[300]", "tile.mode=small"])
    assert graph_settings(fitting.encoder, fitting.tile.mode).budgets == {"global": [300]}


def test_budgets_of_a_model_with_views_of_its_own_are_no_business_of_the_mode(tmp_path: Path) -> None:
    """DeepSeek-OCR-2's tiles are 144 tokens, DeepSeek-OCR's 100."""
    (tmp_path / "config.json").write_text('{"model_type": "deepseek_ocr2"}')
    config = load(None, ["encoder.budgets.local=[144]", f"model={tmp_path}"])
    assert tile_mode(config) is None
    assert graph_settings(config.encoder, tile_mode(config)).budgets == {"local": [144]}
    with pytest.raises(ConfigError, match="144 is not a multiple of 100"):
        graph_settings(config.encoder, tile_mode(load(None, [f"model={PAGE_MODEL}"])))
    assert tile_mode(load(None, [])) is None, "lines have no views"


def test_a_run_with_wrong_budgets_makes_no_database(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    values: dict[str, Any] = {
        "ingest": {"paths": [str(tmp_path / "docs")]},
        "store": {"database": str(tmp_path / "a.db")},
    }
    values["model"] = PAGE_MODEL
    config = load(None, ["encoder.budgets.local=[150]"], [("test", values)])
    with pytest.raises(ConfigError, match=r"encoder\.budgets\.local: 150 "):
        run(config, Silent(), Stop())
    assert not (tmp_path / "a.db").exists()


def test_the_managers_complaints_come_under_their_keys() -> None:
    memory = GraphSettingsError(
        "budgets of local: 3200 tokens need 39321600 bytes, more than memory_limit, 1000"
    )
    assert str(config_error(memory)).startswith("encoder.budgets.local: 3200 tokens need")
    items = GraphSettingsError("max_items is 0: it must be at least 1")
    assert str(config_error(items)) == "encoder.max_items is 0: it must be at least 1"

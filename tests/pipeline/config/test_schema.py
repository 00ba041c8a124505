from pathlib import Path
from typing import get_args

import click
import pytest

from ocr.errors import CheckpointError
from pipeline.cli.main import cli
from pipeline.config.schema import (
    Config,
    ingest_settings,
    layer_use,
    render_settings,
    resolved,
    settings_hash,
    tile_settings,
)
from pipeline.config.sources import load
from pipeline.device.sizes import decode_slots
from pipeline.documents.settings import IngestSettings, RenderSettings, TileSettings
from pipeline.types import LayerUse
from tests.pipeline.checkpoints import PAGE_MODEL

WEIGHTS = "0" * 64


def test_workers_are_told_the_defaults_they_have_themselves() -> None:
    assert ingest_settings(Config()) == IngestSettings()
    assert render_settings(Config()) == RenderSettings(text_layer="auto")
    assert tile_settings(load(None, [f"model={PAGE_MODEL}", "words=off"])) == TileSettings()


def test_workers_are_told_what_was_set() -> None:
    config = load(None, ["ingest.include=['*.pdf']", "ingest.max_image_pixels=9", "render.dpi=72.0"])
    assert ingest_settings(config) == IngestSettings(include=("*.pdf",), max_image_pixels=9)
    assert render_settings(config) == RenderSettings(dpi=72.0, max_image_pixels=9, text_layer="auto")


def test_lines_are_read_where_the_model_has_a_line_reader(tmp_path: Path) -> None:
    assert tile_settings(Config()) == TileSettings(lines=True)
    assert resolved(Config()).reader == "lines"
    (tmp_path / "config.json").write_text('{"model_type": "deepseek_vl_v2"}', encoding="utf-8")
    assert resolved(Config(model=str(tmp_path))).reader == "page"
    with pytest.raises(CheckpointError, match="is no line reader; use reader: auto"):
        tile_settings(Config(model=str(tmp_path), reader="lines"))


TEXT_KEYS = {
    "text_layer=fallback", "text_layer=prefer", "text_layer=ignore", "text_layer=compare", "render.dpi=200",
    "tile.mode=base", "tile.max_tiles=9", "decode.prompt='<image> read'", "decode.max_tokens=4000",
    "decode.pdf.size=3", "decode.image.window=3", "decode.loop.tokens=99", "ladder.below=0.4",
    "ladder.rungs=[]",
}  # fmt: skip
OTHER_KEYS = {
    "device=cpu", "dtype=bfloat16", "encoder.graphs=off", "encoder.budgets=auto", "encoder.max_items=3",
    "encoder.dtype=bfloat16", "encoder.memory_limit=8GiB", "threads=1",
    "model=another-path-to-the-same-weights", "ingest.paths=[a]", "ingest.pages='1'", "render.workers=3",
    "render.page_timeout_s=3.0", "render.worker_memory_mb=512", "ingest.password_env=NAME",
    "ingest.password_file=file", "run.log_file=run.log", "run.log_max_mb=1", "run.summary_file=run.json",
    "run.time_limit_s=9.0", "decode.batch_size=3", "store.database=other.db", "store.low_confidence=0.5",
    "store.doubtful_below=0.1", "run.force=true", "run.retry_failed=true", "run.inflight_mb=99",
}  # fmt: skip


@pytest.mark.parametrize("text", sorted(TEXT_KEYS))
def test_what_decides_the_text_changes_the_settings_hash(text: str) -> None:
    assert settings_hash(load(None, [text]), WEIGHTS) != settings_hash(Config(), WEIGHTS)


@pytest.mark.parametrize("text", sorted(OTHER_KEYS))
def test_what_does_not_decide_the_text_keeps_the_settings_hash(text: str) -> None:
    assert settings_hash(load(None, [text]), WEIGHTS) == settings_hash(Config(), WEIGHTS)


def test_auto_means_the_layer_first_for_the_shipped_model_and_last_for_those_that_give_structure(
    tmp_path: Path,
) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "deepseek_vl_v2"}', encoding="utf-8")
    published = load(None, [f"model={tmp_path}"])
    assert (layer_use(Config()), layer_use(published)) == ("auto", "fallback")
    assert render_settings(published).text_layer == "fallback"
    explicit = [load(None, [f"model={tmp_path}", f"text_layer={use}"]) for use in ("prefer", "ignore")]
    assert [layer_use(config) for config in explicit] == ["prefer", "ignore"]


def test_what_a_model_read_with_fallback_is_done_where_auto_means_that(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "deepseek_vl_v2"}', encoding="utf-8")
    both = [load(None, [f"model={tmp_path}", f"text_layer={use}"]) for use in ("auto", "fallback")]
    assert len({settings_hash(resolved(config), WEIGHTS) for config in both}) == 1
    ours = [load(None, [f"text_layer={use}"]) for use in ("auto", "fallback")]
    assert len({settings_hash(resolved(config), WEIGHTS) for config in ours}) == 2


def test_the_command_knows_every_use_of_a_layer() -> None:
    (option,) = (option for option in cli.commands["run"].params if option.name == "text_layer")
    assert isinstance(option.type, click.Choice)
    assert set(option.type.choices) == set(get_args(LayerUse))


def test_comparing_with_a_text_layer_is_as_ignoring_it() -> None:
    both = [load(None, [f"text_layer={use}"]) for use in ("ignore", "compare")]
    assert len({settings_hash(config, WEIGHTS) for config in both}) == 1


def test_the_documented_numbers_are_those_of_the_code() -> None:
    text = (Path(__file__).parents[3] / "configs" / "default.yaml").read_text(encoding="utf-8")
    slots = (decode_slots(Config(), device) for device in ("cpu", "cuda"))
    assert "null: {} on a CPU, {} on a GPU.".format(*slots) in text


IDLE_LADDER = "ladder.rungs=[{name: hot, temperature: 0.9}, {name: layer, text_layer: true}]"
WHOLE_PAGES = f"ladder.rungs=[{{name: whole, model: {PAGE_MODEL}}}]"


@pytest.mark.parametrize(
    "text", ["decode.max_tokens=99", "decode.pdf.size=9", "tile.max_tiles=2", IDLE_LADDER]
)
def test_what_the_line_reader_does_not_look_at_has_no_page_read_again(text: str) -> None:
    def hashed(*texts: str) -> str:
        return settings_hash(resolved(load(None, texts)), WEIGHTS)

    assert hashed(text) == hashed()
    whole = f"model={PAGE_MODEL}"
    assert hashed(text, whole) != hashed(whole)
    if text != IDLE_LADDER:
        assert hashed(text, WHOLE_PAGES) != hashed(WHOLE_PAGES)


@pytest.mark.parametrize("text", ["ladder.rungs=[]", "ladder.below=0.7", "render.dpi=99", WHOLE_PAGES])
def test_what_the_line_reader_looks_at_has_pages_read_again(text: str) -> None:
    both = [load(None, texts) for texts in ([], [text])]
    assert len({settings_hash(resolved(config), WEIGHTS) for config in both}) == 2


def test_weights_change_the_settings_hash() -> None:
    assert settings_hash(Config(), WEIGHTS) != settings_hash(Config(), "1" * 64)


def test_the_settings_hash_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is stored: if it changes, every page of every user is read again. Change it knowingly."""
    monkeypatch.setattr("ocr.model_files.fingerprint.orientation_sha256", lambda: "2" * 64)
    monkeypatch.setattr("ocr.model_files.fingerprint.structure_sha256", lambda: "3" * 64)
    assert [settings_hash(config, WEIGHTS) for config in (Config(), resolved(Config()))] == [
        "275260951d25311fbbe6069ae24e3bce4ce3603179450ed5175282de8c0a72a4",
        "2ce0f63be06516238115fabe70410cb6373cc383fa1887e807d6d0c02eb86d15",
    ]

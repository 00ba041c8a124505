"""Each retry step's instructions to workers and language model."""

from dataclasses import replace

import pytest

from ocr.decoding.sequence.page_reading import DecodeSettings
from ocr.errors import NoPageModelError
from pipeline.config.retry_steps import Step, steps_of, turned_step
from pipeline.config.schema import Config, completed, models_sha256, render_settings
from pipeline.config.sources import load
from pipeline.stages.decode import page_settings
from pipeline.types import Kind
from tests.pipeline.checkpoints import PAGE_MODEL


def steps(config: Config, kind: Kind = "pdf") -> dict[str | None, Step]:
    return {step.name: step for step in steps_of(config, kind, render_settings(config))}


def test_the_first_step_reads_as_configured() -> None:
    config = Config(model=PAGE_MODEL)
    for kind in ("pdf", "image"):
        first = steps_of(config, kind, render_settings(config))[0]
        assert first.render == render_settings(config)
        assert page_settings(config.decode, kind, first) == page_settings(config.decode, kind)


def test_each_step_changes_its_own_thing_alone() -> None:
    found = steps(Config(model=PAGE_MODEL, text_layer="fallback"))
    assert list(found) == [None, "ngram", "mode", "temperature", "layer"]
    first, ngram, mode, warm = (found[name] for name in (None, "ngram", "mode", "temperature"))
    assert first.tile.mode == "gundam"
    assert (mode.tile.mode, mode.ngram_size) == ("base", first.ngram_size)
    assert (ngram.tile, ngram.render) == (first.tile, first.render)
    assert ngram.ngram_window > first.ngram_window
    decode = Config().decode
    assert page_settings(decode, "pdf", warm).temperature == warm.temperature > 0
    changed = DecodeSettings(
        **{
            **{name: getattr(page_settings(decode, "pdf"), name) for name in DecodeSettings.__slots__},
            "ngram_size": ngram.ngram_size,
            "ngram_window": ngram.ngram_window,
        }
    )
    assert page_settings(decode, "pdf", ngram) == changed


def test_steps_that_would_read_the_same_again_are_left_out() -> None:
    same = load(None, ["ladder.rungs=[{name: a, mode: gundam}, {name: b, dpi: 300.0}, {name: c, dpi: 300}]"])
    assert list(steps(same)) == [None, "b", "layer"]
    assert list(steps(same, "image")) == [None], "an image has the resolution that it has"


def test_the_text_layer_is_a_step_only_where_it_may_be_used() -> None:
    for use in ("ignore", "compare"):
        assert "layer" not in steps(Config(text_layer=use))
    assert "layer" not in steps(Config(text_layer="fallback"), "image")
    assert "layer" in steps(Config(text_layer="prefer"))


def test_a_page_is_turned_the_other_way_with_all_else_as_it_was() -> None:
    first = steps(Config(model=PAGE_MODEL))[None]
    turned = turned_step(first)
    assert turned.render.orientation == "runner_up"
    assert turned.tile == first.tile


def test_lines_are_read_again_only_with_what_the_line_reader_has() -> None:
    found = steps(Config(text_layer="fallback"))
    assert list(found) == [None, "layer"], "it writes no tokens, has no modes and draws no lots"
    assert found[None].tile.lines
    finer = load(None, ["ladder.rungs=[{name: finer, dpi: 300}]"])
    assert steps(finer)["finer"].render.dpi == 300
    assert steps(finer)["finer"].tile == found[None].tile


def test_a_page_model_can_be_a_step_after_the_line_reader() -> None:
    one, two = ({"name": name, "model": PAGE_MODEL} for name in ("page", "base"))
    both = Config.model_validate(
        {"text_layer": "fallback", "ladder": {"rungs": [one, {**two, "mode": "base"}]}}
    )
    found = steps(both)
    page = steps(Config(model=PAGE_MODEL))[None]
    assert replace(found["page"], name=None, model=None, render=page.render) == page
    assert (found["base"].tile.mode, found["base"].tile.lines) == ("base", False)


@pytest.mark.parametrize(
    "text",
    ["reader=page", "ladder.rungs=[{name: x, model: small}]"],
)
def test_what_ships_is_no_page_model(text: str) -> None:
    with pytest.raises(
        NoPageModelError, match=r"No page model ships .* since 0\.1\.0; name one with --model"
    ):
        models_sha256(completed(load(None, [text])))

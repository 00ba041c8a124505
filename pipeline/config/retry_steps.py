"""The ladder's rungs as what workers and the language model are told. Torch-free."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pipeline.config.ladder_section import RungConfig
from pipeline.config.schema import Config, layer_use, tile_settings
from pipeline.documents.settings import RenderSettings, TileSettings
from pipeline.types import TAKEN_FIRST, TAKEN_LAST, Kind

_FALLBACK = RungConfig(name="layer", text_layer=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One reading of a page, complete. name: the rung's, None for the first reading.

    ngram_size, ngram_window, temperature, seed: as ocr.decoding.sequence.page_reading.DecodeSettings has them.
    text_layer: nothing is read.
    """

    name: str | None
    render: RenderSettings
    tile: TileSettings
    ngram_size: int
    ngram_window: int
    temperature: float = 0.0
    seed: int = 0
    text_layer: bool = False


def steps_of(config: Config, kind: Kind, render: RenderSettings) -> tuple[Step, ...]:
    """Returns the first reading and the rungs, of PDF pages or images, without those that would read as one before.

    Where the text layer may stand in for a failed reading it is the last one, whether it is named or not. render: what
    workers are told at first. Raises: CheckpointError.
    """
    ngram = config.decode.pdf if kind == "pdf" else config.decode.image
    first = Step(
        name=None,
        render=render,
        tile=tile_settings(config),
        ngram_size=ngram.size,
        ngram_window=ngram.window,
    )
    rungs = list(config.ladder.rungs)
    use = layer_use(config)
    if use in TAKEN_LAST and not any(rung.text_layer for rung in rungs):
        rungs.append(_FALLBACK)
    # No image has a text layer, and only these modes may take the text from one.
    if kind == "image" or use not in TAKEN_FIRST | TAKEN_LAST:
        rungs = [rung for rung in rungs if not rung.text_layer]
    return first, *_anew(first, (_step(config, kind, first, rung) for rung in rungs))


def turned_step(first: Step) -> Step:
    """Returns a page's first reading, turned the other way where it is in doubt which way up it is."""
    return replace(first, name="turn", render=replace(first.render, orientation="runner_up"))


def _anew(first: Step, steps: Iterator[Step]) -> Iterator[Step]:
    """Gives the steps that read otherwise than all before them."""
    seen = {first}
    for step in steps:
        nameless = replace(step, name=None)
        if nameless not in seen:
            seen.add(nameless)
            yield step


def _step(config: Config, kind: Kind, first: Step, rung: RungConfig) -> Step:
    tile = {key: getattr(rung, key) for key in ("mode", "max_tiles", "parts")}
    changed = {key: value for key, value in tile.items() if value is not None}
    with_tile = config.model_copy(update={"tile": config.tile.model_copy(update=changed)})
    # An image has the resolution that it has.
    dpi = rung.dpi if rung.dpi is not None and kind == "pdf" else first.render.dpi
    return replace(
        first,
        name=rung.name,
        render=replace(first.render, dpi=dpi),
        tile=tile_settings(with_tile),
        ngram_size=first.ngram_size if rung.ngram_size is None else rung.ngram_size,
        ngram_window=rung.ngram_window or first.ngram_window,
        temperature=rung.temperature or 0.0,
        seed=rung.seed,
        text_layer=rung.text_layer,
    )

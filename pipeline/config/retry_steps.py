"""Turns `ladder.rungs` into retry steps: settings for workers and for the language model. Torch-free."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pipeline.config.ladder_section import RetryStepConfig
from pipeline.config.schema import Config, completed, layer_use, tile_settings, with_model
from pipeline.documents.settings import RenderSettings, TileSettings
from pipeline.types import TAKEN_FIRST, TAKEN_LAST, Kind

_FALLBACK = RetryStepConfig(name="layer", text_layer=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The complete settings of one reading of a page. name: the retry step's, None for readings of the first attempt.

    ngram_size, ngram_window, temperature, seed: see ocr.decoding.sequence.page_reading.DecodeSettings; the line reader
    has none of these.
    text_layer: nothing is read; the page's text layer is taken. model: another model by its name, None for the
    configured one. below: the confidence under which it is taken, None for the ladder's.
    """

    name: str | None
    render: RenderSettings
    tile: TileSettings
    ngram_size: int
    ngram_window: int
    temperature: float = 0.0
    seed: int = 0
    text_layer: bool = False
    model: str | None = None
    below: float | None = None


def steps_of(config: Config, kind: Kind, render: RenderSettings) -> tuple[Step, ...]:
    """Returns the steps for PDF pages or images: the first reading, then the configured ones that read otherwise.

    Where the text layer may replace a failed reading it is the last step, even if none of `ladder.rungs` asks for it.
    render: the first reading's settings for workers. Raises: CheckpointError.
    """
    first = _plain(config, kind, render)
    changes = list(config.ladder.rungs)
    use = layer_use(config)
    if use in TAKEN_LAST and not any(change.text_layer for change in changes):
        changes.append(_FALLBACK)
    # Images have no text layer, and only these uses may take the text from one.
    if kind != "pdf" or use not in TAKEN_FIRST | TAKEN_LAST:
        changes = [change for change in changes if not change.text_layer]
    return first, *_anew(first, (_step(config, kind, render, change) for change in changes))


def turned_step(first: Step) -> Step:
    """Returns the step that repeats the first reading in the second-best orientation, for pages in doubt."""
    return replace(first, name="turn", render=replace(first.render, orientation="runner_up"))


def _anew(first: Step, steps: Iterator[Step]) -> Iterator[Step]:
    """Yields the steps that differ from all before them."""
    seen = {first}
    for step in steps:
        nameless = replace(step, name=None)
        if nameless not in seen:
            seen.add(nameless)
            yield step


def _plain(config: Config, kind: Kind, render: RenderSettings) -> Step:
    """Returns the step that reads a page as configured."""
    tile = tile_settings(config)
    decode = completed(config).decode
    ngram = decode.pdf if kind == "pdf" else decode.image
    size, window = (0, 0) if tile.lines else (ngram.size or 0, ngram.window or 0)
    return Step(name=None, render=render, tile=tile, ngram_size=size, ngram_window=window)


def _step(config: Config, kind: Kind, render: RenderSettings, change: RetryStepConfig) -> Step:
    tile = {key: getattr(change, key) for key in ("mode", "max_tiles")}
    changed = {key: value for key, value in tile.items() if value is not None}
    config = config.model_copy(update={"tile": config.tile.model_copy(update=changed)})
    if change.model is not None:
        config = with_model(config, change.model)
    # An image's resolution cannot be chosen.
    dpi = change.dpi if change.dpi is not None and kind == "pdf" else render.dpi
    plain = replace(
        _plain(config, kind, replace(render, dpi=dpi)),
        name=change.name,
        text_layer=change.text_layer,
        model=change.model,
        below=change.below,
    )
    if plain.tile.lines:  # which neither writes tokens nor draws lots
        return plain
    return replace(
        plain,
        ngram_size=plain.ngram_size if change.ngram_size is None else change.ngram_size,
        ngram_window=change.ngram_window or plain.ngram_window,
        temperature=change.temperature or 0.0,
        seed=change.seed,
    )

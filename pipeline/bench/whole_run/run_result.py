"""Computes the figures of `ocrbatch bench pipeline` from a measured run."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

import torch

from ocr.checkpoints.checkpoint import LoadedModel
from ocr.imaging.tiling import MODES
from ocr.model.prompt import encode_prompt
from pipeline.bench.machine import describe
from pipeline.bench.roofline.bound import Bound, PageWork, page_bound
from pipeline.bench.roofline.rates import Rates, measure_rates
from pipeline.bench.whole_run.figures import Memory, Speed, StartUp, memory_of, speeds_of, start_up_of
from pipeline.bench.whole_run.generate_beside import SideBySide, generate_beside
from pipeline.bench.whole_run.measured import Measured, PipelineBenchSettings
from pipeline.config.schema import tile_settings
from pipeline.device.startup.loading import choose_dtype
from pipeline.meter import bottleneck
from storage.database import open_for_reading
from storage.queries import statistics


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineBenchResult:
    """The result of `ocrbatch bench pipeline`. statuses: page status -> pages. speeds: of the whole run and its parts.

    at_once: pages decoded at once. num_read: pages that did not fail. flow: as in the database (RunSummary.flow).
    stopped: why the run ended early. wall_s: until its workers had ended. stored_s: when each page was stored, since
    the run began. has_drafts: whether pages were decoded with drafts. rates, bound, work: None where the device's rates
    are not known, or the work of the model's family. bound_share: the last of the speeds as a share of the bound.
    notes: what is left out or otherwise for the model's family, and why.
    """

    settings: PipelineBenchSettings
    machine: dict[str, Any]
    model: str
    dtype: str
    device: str
    at_once: int
    has_drafts: bool
    num_tokens: int
    num_read: int
    statuses: dict[str, int]
    speeds: tuple[Speed, ...]
    start_up: StartUp
    memory: Memory
    flow: dict[str, Any]
    bottleneck: str | None
    stopped: str | None
    wall_s: float
    stored_s: tuple[float, ...]
    config: dict[str, Any]
    rates: Rates | None = None
    work: PageWork | None = None
    bound: Bound | None = None
    bound_share: float | None = None
    beside: SideBySide | None = None
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns the result as JSON values."""
        found = asdict(self)
        if self.bound is not None:
            found["bound"] |= {"page_s": self.bound.page_s, "pages_s": self.bound.pages_s}
        if self.beside is not None:
            found["beside"] |= {"pages_s": self.beside.pages_s, "tokens_s": self.beside.tokens_s}
        return found


def result_of(
    settings: PipelineBenchSettings, measured: Measured, paths: Sequence[str]
) -> PipelineBenchResult:
    """Returns the result, measuring what is left for after the run. Raises: CheckpointError, ConfigError."""
    model, track, summary, config = measured.model, measured.track, measured.summary, measured.config
    speeds = speeds_of(measured)
    memory = memory_of(measured)  # before anything else takes memory
    device = model.device
    rates: Rates | None = None
    work: PageWork | None = None
    bound: Bound | None = None
    if isinstance(model, LoadedModel):
        rates, work = measure_rates(device, model.model.dtype), _work(measured, model)
        if rates and work:
            bound = page_bound(model.model.config, work, rates, model.model.dtype.itemsize)
    return PipelineBenchResult(
        settings=settings,
        machine=describe(device),
        model=settings.model,
        dtype=choose_dtype(config.dtype, device.type),
        device=device.type,
        at_once=measured.at_once,
        has_drafts=model.takes_drafts
        and (device.type == "cpu" if config.decode.drafts is None else config.decode.drafts),
        num_tokens=sum(page.num_tokens for page in track.pages),
        num_read=track.num_read,
        statuses=dict(track.statuses),
        speeds=speeds,
        start_up=start_up_of(measured),
        memory=memory,
        flow=summary.flow(),
        bottleneck=slowest.name if (slowest := bottleneck(summary.stages)) else None,
        stopped=summary.stopped,
        wall_s=measured.wall_s,
        stored_s=tuple(round(page.at_s - measured.started.at_s, 3) for page in track.pages),
        config=config.model_dump(mode="json"),
        rates=rates,
        work=work,
        bound=bound,
        bound_share=speeds[-1].pages_s / bound.pages_s if bound else None,
        beside=_beside(settings, measured, paths),
        notes=tuple(_notes(settings, measured)),
    )


def _notes(settings: PipelineBenchSettings, measured: Measured) -> Iterator[str]:
    if isinstance(measured.model, LoadedModel):
        return
    yield "no bound: the work of a page is counted for models of DeepSeek-OCR's shape alone"
    if settings.output_tokens is not None:
        yield (
            f"at most {settings.output_tokens} tokens a page, fewer where the model ends it or decode.max_tokens does, "
            "which counts the prompt too"
        )
    if settings.generate_pages:
        yield "no generate beside it: the run itself writes this model's texts with transformers' generate"


def _work(measured: Measured, loaded: LoadedModel) -> PageWork | None:
    """Returns the average page's work from the encoder's stored counts; None where there are none."""
    config, num_pages = measured.config, measured.track.num_read
    with closing(open_for_reading(config.store.database)) as db:
        encoder = statistics.runs(db)[-1].encoder
    if encoder is None:
        return None
    units = {name: int(stats["units"]) for name, stats in encoder.items()}
    prompt = config.decode.prompt or loaded.prompt
    return PageWork(
        readings=units.get("global", 0) / num_pages,
        tiles=units.get("local", 0) / num_pages,
        view_px=MODES[config.tile.mode].base_px,
        words=len(encode_prompt(loaded.tokenizer, prompt, bos_id=loaded.bos_id)),
        output_tokens=sum(page.num_tokens for page in measured.track.pages) / num_pages,
        rows=min(measured.at_once, num_pages),
    )


def _beside(settings: PipelineBenchSettings, measured: Measured, paths: Sequence[str]) -> SideBySide | None:
    if not settings.generate_pages or not isinstance(measured.model, LoadedModel):
        return None
    if measured.model.device.type == "cuda":
        torch.cuda.empty_cache()
    tokens = max(page.num_tokens for page in measured.track.pages)
    layout = tile_settings(measured.config)
    return generate_beside(measured.model, paths, layout, settings.generate_pages, tokens)

"""Pages to decode, encoded, and our engines: by name, with a number of slots; requests in, pages out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from encoders.types import VisionTokens
from ocr.checkpoints.checkpoint import LoadedModel
from ocr.decoding.requests import PageRead, PageRequest
from ocr.decoding.sequence.page_reading import settings_for
from ocr.model.prompt import encode_prompt
from pipeline.bench.real_pages import first_pages
from pipeline.documents.settings import TileSettings
from pipeline.types import Kind

if TYPE_CHECKING:
    from ocr.decoding.gpu.reader import PagedReader

ENGINES = ("engine", "paged")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A page to decode. name: of its file, with the page's number."""

    name: str
    kind: Kind
    vision: VisionTokens


@torch.inference_mode()
def readings(loaded: LoadedModel, paths: Sequence[str], count: int) -> list[Reading]:
    """Returns the first pages of files and folders that are not blank. Raises: ConfigError where there is none."""
    return [
        Reading(
            name=f"{Path(rendered.page.path).name}-{rendered.page.page_number}",
            kind=rendered.page.kind,
            vision=loaded.model.encoder.encode([rendered.views])[0],
        )
        for rendered in first_pages(paths, TileSettings(), count, "DOCS")
    ]


def request_of(loaded: LoadedModel, reading: Reading, cap: int) -> PageRequest:
    """Returns a run's request, but with at most `cap` tokens of output."""
    limits = settings_for(reading.kind)
    most = num_prompt_tokens(loaded, reading) + cap
    return PageRequest(
        vision=reading.vision,
        settings=replace(limits, max_tokens=min(limits.max_tokens, most)),
    )


def num_prompt_tokens(loaded: LoadedModel, reading: Reading) -> int:
    """Returns the tokens of the page and the words around it."""
    ids = encode_prompt(loaded.tokenizer, loaded.prompt, bos_id=loaded.bos_id)
    return len(ids) + len(reading.vision.tokens_TD)


class ReadingEngine:
    """One of ENGINES. A request of None means that nothing is ready."""

    def __init__(self, name: str, loaded: LoadedModel, *, slots: int, max_tokens: int) -> None:
        """Makes the engine. max_tokens: of a page, prompt included. Raises: ocr.decoding.gpu.reader.UnusableError."""
        self._loaded = loaded
        self._engine = loaded.engine(prompt=loaded.prompt, num_slots=slots)
        self._paged = _paged(loaded, slots, max_tokens) if name == "paged" else None

    def read(self, requests: Iterable[PageRequest | None]) -> Iterator[PageRead]:
        """Yields the pages as they are finished."""
        if self._paged is None:
            return self._engine.read(requests)
        return self._paged.read(requests, self._loaded.prompt)

    def close(self) -> None:
        if self._paged is not None:
            self._paged.close()


def _paged(loaded: LoadedModel, slots: int, max_tokens: int) -> "PagedReader":
    """Returns the paged reader, without its kernels on a CPU, where a run does not use it."""
    from ocr.decoding.gpu.reader import PagedReader
    from ocr.decoding.gpu.schedule.entries import EngineSettings

    if loaded.model.lm_head.weight.device.type == "cuda":
        return PagedReader.open(loaded, slots=slots, max_tokens=max_tokens)
    return PagedReader(loaded, EngineSettings(slots=slots, max_tokens=max_tokens))


def with_pauses(requests: Sequence[PageRequest], every: int = 3) -> Iterator[PageRequest | None]:
    """Yields the requests with a None before every third, like an encoder that does not keep up."""
    for number, request in enumerate(requests):
        if number % every == 0:
            yield None
        yield request

"""Our engines for the decoding figures: by name, with a number of slots; requests in, pages out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ocr.checkpoints.checkpoint import LoadedModel
from ocr.decoding.requests import PageRead, PageRequest
from ocr.decoding.sequence.page_reading import settings_for
from ocr.model.prompt import encode_prompt
from tests.benchmarks.prompts.real_pages import Reading

if TYPE_CHECKING:
    from ocr.decoding.gpu.reader import PagedReader

ENGINES = ("engine", "paged")


def request_of(loaded: LoadedModel, reading: Reading, cap: int) -> PageRequest:
    """Returns a run's request, but with at most `cap` tokens of output."""
    weight = loaded.model.lm_head.weight
    reading = reading.to(weight.device, weight.dtype)
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

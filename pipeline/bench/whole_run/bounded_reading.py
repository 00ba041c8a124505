"""Bounds how much a model writes on each page, as random weights never end a text. What it read of pages is kept."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ocr.checkpoints.checkpoint import LoadedModel
from ocr.decoding.requests import PageRead, PageRequest
from ocr.model.prompt import encode_prompt


@dataclass(slots=True, kw_only=True)
class Seen:
    """What the engines were given: vision tokens of each page. Mutable: engines of any thread add to it."""

    vision_tokens: list[int] = field(default_factory=list)


class BoundedModel:
    """A loaded model, ocr.families.page_model.PageModel, that writes at most so many tokens on each page.

    The configured decode.max_tokens, which counts the prompt too, stays a bound as well.
    """

    def __init__(self, loaded: Any, num_tokens: int) -> None:
        self._loaded, self._num_tokens = loaded, num_tokens
        self.seen = Seen()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loaded, name)

    def engine(self, *, prompt: str, num_slots: int, kv_bytes: int | None = None) -> "_BoundedEngine":
        made = self._loaded.engine(prompt=prompt, num_slots=num_slots, kv_bytes=kv_bytes)
        return _BoundedEngine(made, lambda request: self.bounded(request, prompt))

    def paged_reader(self, **limits: Any) -> "_BoundedPagedReader | None":
        made = self._loaded.paged_reader(**limits)
        return None if made is None else _BoundedPagedReader(made, self.bounded)

    def bounded(self, request: PageRequest, prompt: str) -> PageRequest:
        """Returns the request with its new limit."""
        vision = len(request.vision.tokens_TD)
        self.seen.vision_tokens.append(vision)
        if isinstance(self._loaded, LoadedModel):
            words = encode_prompt(self._loaded.tokenizer, prompt, bos_id=self._loaded.bos_id)
            length = len(words) + vision
        else:
            length = self._loaded.prompted(request).num_tokens
        most = min(request.settings.max_tokens, length + self._num_tokens)
        return replace(request, settings=replace(request.settings, max_tokens=most))


class _BoundedEngine:
    def __init__(self, engine: Any, bounded: Callable[[PageRequest], PageRequest]) -> None:
        self._engine, self._bounded = engine, bounded

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def read(self, requests: Iterable[PageRequest | None], **others: Any) -> Iterator[PageRead]:
        found: Iterator[PageRead] = self._engine.read(_each(requests, self._bounded), **others)
        return found


class _BoundedPagedReader:
    def __init__(self, reader: Any, bounded: Callable[[PageRequest, str], PageRequest]) -> None:
        self._reader, self._bounded = reader, bounded

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def read(self, requests: Iterable[PageRequest | None], prompt: str, **others: Any) -> Iterator[PageRead]:
        limited = _each(requests, lambda request: self._bounded(request, prompt))
        found: Iterator[PageRead] = self._reader.read(limited, prompt, **others)
        return found


def _each(
    requests: Iterable[PageRequest | None], bounded: Callable[[PageRequest], PageRequest]
) -> Iterator[PageRequest | None]:
    for request in requests:
        yield None if request is None else bounded(request)

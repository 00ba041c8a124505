"""Bounds how much a model writes on each page, as random weights never end a text."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ocr.checkpoints.checkpoint import LoadedModel
from ocr.decoding.requests import PageRead, PageRequest
from ocr.model.prompt import encode_prompt

if TYPE_CHECKING:
    from ocr.families.page_model import PageModel


def bounded(loaded: "PageModel", num_tokens: int) -> "PageModel":
    """Returns the model that writes so many tokens on each page; at most so many where only its own engine ends one."""
    if isinstance(loaded, LoadedModel):  # no token has this id
        loaded = replace(loaded, eos_id=loaded.model.config.language.vocab_size)
    return cast("PageModel", BoundedModel(loaded, num_tokens))


class BoundedModel:
    """A loaded model, ocr.families.page_model.PageModel, that writes at most so many tokens on each page.

    The configured decode.max_tokens, which counts the prompt too, stays a bound as well.
    """

    def __init__(self, loaded: Any, num_tokens: int) -> None:
        self._loaded, self._num_tokens = loaded, num_tokens

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loaded, name)

    def engine(self, *, prompt: str, num_slots: int, kv_bytes: int | None = None) -> "_Bounded":
        made = self._loaded.engine(prompt=prompt, num_slots=num_slots, kv_bytes=kv_bytes)
        return _Bounded(made, partial(self.bounded, prompt))

    def paged_reader(self, *, prompt: str, **limits: int) -> "_Bounded | None":
        made = self._loaded.paged_reader(prompt=prompt, **limits)
        return None if made is None else _Bounded(made, partial(self.bounded, prompt))

    def bounded(self, prompt: str, request: PageRequest) -> PageRequest:
        """Returns the request with its new limit."""
        vision = len(request.vision.tokens_TD)
        if isinstance(self._loaded, LoadedModel):
            words = encode_prompt(self._loaded.tokenizer, prompt, bos_id=self._loaded.bos_id)
            length = len(words) + vision
        else:
            length = self._loaded.prompted(request).num_tokens
        most = min(request.settings.max_tokens, length + self._num_tokens)
        return replace(request, settings=replace(request.settings, max_tokens=most))


class _Bounded:
    """An engine that reads bounded requests."""

    def __init__(self, engine: Any, bounded: Callable[[PageRequest], PageRequest]) -> None:
        self._engine, self._bounded = engine, bounded

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def read(self, requests: Iterable[PageRequest | None], **others: Any) -> Iterator[PageRead]:
        limited = (None if request is None else self._bounded(request) for request in requests)
        found: Iterator[PageRead] = self._engine.read(limited, **others)
        return found

"""Opens the paged engine: once for a model with kernels and graphs, or with PyTorch's operators alone."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import torch
from torch import Tensor

from encoders.graphs.capturing.gate import working
from ocr.decoding.gpu.forward.block_pool import PoolShape
from ocr.decoding.gpu.forward.choices import upload
from ocr.decoding.gpu.forward.paged_attention import kernels_take
from ocr.decoding.gpu.paged_engine import PagedEngine
from ocr.decoding.gpu.schedule.entries import EngineSettings, Page
from ocr.decoding.requests import PageRead, PageRequest
from ocr.decoding.sequence.page_reading import DecodeSettings, Loaded, start_reading
from ocr.model.prompt import PromptIds, encode_prompt

# The most that keys and values take of the memory that is free when the engine is made. The other half is for
# prefills, graphs, and an encoder whose views match no captured graph.
_KV_SHARE = 0.5
_TRIAL_PROMPT, _TRIAL_TOKENS = 16, 24


class UnusableError(RuntimeError):
    """The paged engine cannot run this model on this machine."""


class PagedReader:
    """Owns a model's paged engine and makes it again after memory ran out. One thread and one reading at a time."""

    def __init__(self, loaded: Loaded, settings: EngineSettings, prompt: str) -> None:
        """Makes the engine.

        Raises: ocr.model.prompt.PromptError; ValueError when the cache does not hold one page; torch.OutOfMemoryError.
        """
        self._loaded = loaded
        self._settings = settings
        self._prompts = Prompts(loaded, encode_prompt(loaded.tokenizer, prompt, bos_id=loaded.bos_id))
        self._engine: PagedEngine | None = self._make()

    @classmethod
    def open(cls, loaded: Loaded, *, prompt: str, slots: int, max_tokens: int) -> "PagedReader":
        """Returns a reader with kernels that has passed a trial: it reads a dummy page, so that any failure shows now.

        slots: pages read at once. max_tokens: of one page, prompt included.
        Raises: UnusableError without kernels for this device and model, and whatever making, compiling or
        capturing raises.
        """
        weight = loaded.model.lm_head.weight
        width = PoolShape.of(loaded.model.language_model, weight.dtype).head_dim
        if not kernels_take(weight.device, width):
            raise UnusableError(
                "its kernels need Triton, an NVIDIA GPU of compute capability 8.0 or more, and attention heads "
                f"whose width is a power of two from 16 on, here {width}"
            )
        settings = EngineSettings(slots=slots, max_tokens=max_tokens, kv_share=_KV_SHARE)
        reader = cls(loaded, settings, prompt)
        reader._try()
        return reader

    @classmethod
    def plain(
        cls, loaded: Loaded, *, prompt: str, num_slots: int, kv_bytes: int | None = None
    ) -> "PagedReader":
        """Returns a reader with PyTorch's operators alone: for a CPU, and a GPU whose kernels do not run or failed.

        kv_bytes: the most that keys and values may take; a single page is always read. Raises: as PagedReader.
        """
        # On a CPU attention reads a page's keys and values where they are, if they are in one piece; memory that a page
        # does not reach costs nothing there.
        on_cpu = loaded.model.lm_head.weight.device.type == "cpu"
        settings = EngineSettings(
            slots=num_slots,
            kv_bytes=kv_bytes,
            block_tokens=None if on_cpu else 64,
            kernels=False,
            graphs=False,
        )
        return cls(loaded, settings, prompt)

    def ready(self) -> bool:
        """Makes the engine again if its memory ran out; returns False where there is too little for one page."""
        if self._engine is None:
            try:
                self._engine = self._make()
            except ValueError:
                return False
        return True

    def read(
        self, requests: Iterable[PageRequest | None], check: Callable[[], None] | None = None
    ) -> Iterator[PageRead]:
        """Yields pages as they are finished; pages are pulled from requests when slots are free.

        Only when ready(). check: called before each step; it may raise to break off.

        A None among the requests says that no further page is ready yet: the engine goes on and asks again after its
        next step. When it is reading no page it asks again at once, so a source should block before it says None. A
        page without room for any output ends as "length" with an empty transcript.

        Vision tokens made on another stream must be finished; they are used on the current stream, which must stay the
        same until the end. Closed early, or broken off by an error of the source, it leaves the reader as it was.

        Raises: ocr.decoding.sequence.page_reading.DecodeError; torch.OutOfMemoryError when memory does not suffice for
        one page at a time.
        """
        engine = self._engine
        assert engine is not None
        coming = (None if request is None else self._page(request) for request in requests)
        try:
            with closing(engine.read(coming, check)) as pages:
                yield from pages
        except torch.OutOfMemoryError:
            if self._engine is engine:
                self._engine = None  # its memory is free once the exception is dealt with
            raise

    def _page(self, request: PageRequest) -> Page:
        tokens_TD = request.only.tokens_TD
        num_prompt = self._prompts.num_tokens + len(tokens_TD)
        return Page(
            prompt=partial(self._prompts.around, tokens_TD),
            num_prompt=num_prompt,
            reading=start_reading(self._loaded, num_prompt, request.settings),
        )

    def close(self) -> None:
        """Frees the engine's cache and graphs."""
        self._engine = None

    def _try(self) -> None:
        assert self._engine is not None
        self._engine.try_prompts()
        limits = DecodeSettings(max_tokens=min(_TRIAL_TOKENS, self._settings.max_tokens))
        with torch.inference_mode():
            table = self._loaded.model.language_model.get_input_embeddings().weight
            prompt_LD = table[self._loaded.bos_id].expand(_TRIAL_PROMPT, -1)
        reading = start_reading(self._loaded, _TRIAL_PROMPT, limits)
        for _ in self._engine.read(
            [Page(prompt=lambda: prompt_LD, num_prompt=_TRIAL_PROMPT, reading=reading)]
        ):
            pass
        if prompt_LD.is_cuda:  # pages may be read on another stream
            torch.cuda.current_stream(prompt_LD.device).synchronize()

    def _make(self) -> PagedEngine:
        if self._loaded.model.lm_head.weight.device.type == "cuda":
            with working():  # not while another thread captures graphs
                torch.cuda.empty_cache()  # so that the free memory is known
        return PagedEngine(self._loaded, self._settings)


class Prompts:
    """The prompt's embeddings before and after a page, made when the first page is read. num_tokens: of both sides."""

    def __init__(self, loaded: Loaded, ids: PromptIds) -> None:
        self._embed: Any = loaded.model.language_model.get_input_embeddings()
        self._ids = ids
        self._sides: tuple[Tensor, ...] = ()
        self.num_tokens = len(ids)

    def around(self, tokens_TD: Tensor) -> Tensor:
        """Returns a page's prompt, [num_tokens + T, D] in the embedding's dtype; never waits for the device."""
        weight = self._embed.weight
        if not self._sides:
            ids = upload((*self._ids.before, *self._ids.after), weight.device)
            self._sides = self._embed(ids).split((len(self._ids.before), len(self._ids.after)))
        before_TD, after_TD = self._sides
        if tokens_TD.is_cuda:
            # Otherwise the other stream's allocator would reuse the memory as soon as the request is gone.
            tokens_TD.record_stream(torch.cuda.current_stream(tokens_TD.device))
        return torch.cat((before_TD, tokens_TD.to(device=weight.device, dtype=weight.dtype), after_TD))

"""The paged engine behind ocr.decoding.decode_pages: made once for a model, so that its graphs serve every batch."""

import time
from collections.abc import Iterator, Sequence

import torch

from ocr.engine.types import PageRead, PageRequest
from ocr.paged.attention import kernels_take
from ocr.paged.engine import Item, PagedEngine
from ocr.paged.pool import PoolShape
from ocr.paged.steps import BUCKETS
from ocr.paged.types import EngineSettings
from ocr.prompt import encode_prompt, splice
from ocr.reading import DecodeSettings, Loaded, start_reading
from ocr.types import Transcript

# Of the memory that is free when the engine is made, the most that keys and values take. The other half is for
# prefills, graphs, and an encoder whose views find no graph.
_KV_SHARE = 0.5
_TRIAL_PROMPT, _TRIAL_TOKENS = 16, 24


class UnusableError(RuntimeError):
    """The paged engine cannot read with this model here."""


class PagedReader:
    """A model and its paged engine. One thread at a time; drafts are not used."""

    def __init__(self, loaded: Loaded, settings: EngineSettings) -> None:
        """Raises: ValueError when the cache does not hold one page; torch.OutOfMemoryError."""
        self._loaded = loaded
        self._settings = settings
        self._engine: PagedEngine | None = self._make()

    @classmethod
    def open(cls, loaded: Loaded, *, slots: int, max_tokens: int) -> "PagedReader":
        """With the graphs of all its steps captured, after a trial.

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
        reader = cls(loaded, EngineSettings(slots=slots, max_tokens=max_tokens, kv_share=_KV_SHARE))
        reader._try()
        return reader

    def ready(self) -> bool:
        """Makes the engine again if its memory ran out; False where there is too little for one page."""
        if self._engine is None:
            try:
                self._engine = self._make()
            except ValueError:
                return False
        return True

    def read(self, requests: Sequence[PageRequest], prompt: str) -> list[PageRead]:
        """Each page, in order; when ready(). Wall time is shared by prompt tokens and by steps.

        num_steps are those whose tokens were taken. Raises: ocr.prompt.PromptError; ocr.reading.DecodeError;
        torch.OutOfMemoryError when memory does not suffice for one page at a time.
        """
        assert self._engine is not None
        ids = encode_prompt(self._loaded.tokenizer, prompt, bos_id=self._loaded.bos_id)
        embed_tokens = self._loaded.model.language_model.get_input_embeddings()

        def items() -> Iterator[Item]:
            for request in requests:
                (prompt_LD,) = splice(embed_tokens, ids, [request.vision.tokens_TD])
                length = len(prompt_LD)
                yield prompt_LD, start_reading(self._loaded, length, request.settings, request.opinion)

        earlier, started = self._engine.stats.prefill_s, time.perf_counter()
        try:
            ended = {index: transcript for index, transcript, _ in self._engine.read(items())}
        except torch.OutOfMemoryError:
            self._engine = None  # what it holds is free once the exception is dealt with
            raise
        wall_s = time.perf_counter() - started
        prefill_s = min(self._engine.stats.prefill_s - earlier, wall_s)
        num_steps = [_steps(ended[index]) for index in range(len(requests))]
        prefill = _shares(prefill_s, [len(ids) + len(request.vision.tokens_TD) for request in requests])
        generate = _shares(wall_s - prefill_s, [steps + 1 for steps in num_steps])
        return [
            PageRead(
                index=index,
                transcript=ended[index],
                num_steps=num_steps[index],
                prefill_s=prefill[index],
                generate_s=generate[index],
            )
            for index in range(len(requests))
        ]

    def close(self) -> None:
        """Frees cache and graphs."""
        self._engine = None

    def _try(self) -> None:
        """Captures all graphs and reads a page of nothing, so that what does not work here shows now."""
        assert self._engine is not None
        self._engine.warm_up(BUCKETS)
        limits = DecodeSettings(max_tokens=min(_TRIAL_TOKENS, self._settings.max_tokens))
        with torch.inference_mode():
            table = self._loaded.model.language_model.get_input_embeddings().weight
            prompt_LD = table[self._loaded.bos_id].expand(_TRIAL_PROMPT, -1)
        reading = start_reading(self._loaded, _TRIAL_PROMPT, limits, None)
        for _ in self._engine.read([(prompt_LD, reading)]):
            pass

    def _make(self) -> PagedEngine:
        if self._loaded.model.lm_head.weight.device.type == "cuda":
            torch.cuda.empty_cache()  # so that what is free is known
        return PagedEngine(self._loaded, self._settings)


def _steps(page: Transcript) -> int:
    """The first token is the prefill's, and the end takes a step."""
    return max(len(page.token_ids) - (page.finish != "eos"), 0)


def _shares(seconds: float, weights: Sequence[int]) -> list[float]:
    return [seconds * weight / sum(weights) for weight in weights]

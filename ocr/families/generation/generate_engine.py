"""Writes pages' texts with transformers' own generate, several pages at once, each held to its limits."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from tokenizers import Tokenizer

from ocr.decoding.requests import PageRead, PageRequest
from ocr.decoding.sequence.page_reading import PageReading, begin_reading
from ocr.families.generation.controls import Controls

# Published settings of sampling, which generate warns of where it does not use them.
_UNSAMPLED = {"temperature": None, "top_p": None, "top_k": None}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PromptedPage:
    """A page with its prompt as its family made it. num_tokens: of the prompt, vision tokens included."""

    request: PageRequest
    prompt: Any
    num_tokens: int


class Writer(ABC):
    """A family's language model: what the engine needs of it. eos_ids: the tokens that end a text.

    num_positions: the most tokens of a page, prompt included.
    """

    @property
    @abstractmethod
    def tokenizer(self) -> Tokenizer: ...
    @property
    @abstractmethod
    def eos_ids(self) -> frozenset[int]: ...
    @property
    @abstractmethod
    def num_positions(self) -> int: ...

    @abstractmethod
    def prompted(self, request: PageRequest) -> PromptedPage:
        """Returns a page with its prompt, made once. Raises: PromptError."""

    @abstractmethod
    def generate(self, pages: Sequence[PromptedPage], **controls: Any) -> None:
        """Runs transformers' generate on pages together. controls: its arguments besides the inputs."""


class GeneratingModel(Writer):
    """What models that write with generate have in common as ocr.families.page_model.PageModel."""

    calibration: ClassVar[None] = None
    takes_drafts: ClassVar[bool] = False

    def engine(self, *, prompt: str, num_slots: int, kv_bytes: int | None = None) -> "GenerateEngine":
        """Returns the engine; the prompt is the one that the model was loaded with."""
        return GenerateEngine(self, num_slots=num_slots)

    def paged_reader(self, *, slots: int, max_tokens: int) -> None:
        """Returns None: there is no faster engine."""
        return


class GenerateEngine:
    """Reads pages in batches: those that are ready, up to num_slots. A batch ends with its longest page.

    Choosing the likeliest token gives what `model.generate(do_sample=False)` does, unless a page's n-gram, loop or
    length limits, or a temperature, say otherwise.
    """

    def __init__(self, writer: Writer, *, num_slots: int) -> None:
        assert num_slots >= 1
        self._writer, self._num_slots = writer, num_slots

    @torch.inference_mode()
    def read(
        self, requests: Iterable[PageRequest | None], check: Callable[[], None] | None = None
    ) -> Iterator[PageRead]:
        """Yields each page once its batch is finished; see ocr.decoding.cpu.slot_engine.Engine.read."""
        for batch in _batches(requests, self._num_slots):
            if check is not None:
                check()
            yield from self._read(batch, check)

    def _read(self, batch: Mapping[int, PageRequest], check: Callable[[], None] | None) -> Iterator[PageRead]:
        prompted = {index: self._writer.prompted(request) for index, request in batch.items()}
        pages = {index: self._start(page) for index, page in prompted.items()}
        for index, page in pages.items():
            if page.budget <= 0:
                yield self._done(index, page, num_steps=0, prefill_s=0.0, generate_s=0.0)
        readable = [index for index, page in pages.items() if page.budget > 0]
        if not readable:
            return
        controls = Controls([pages[index] for index in readable], self._writer.eos_ids, check)
        self._writer.generate(
            [prompted[index] for index in readable],
            logits_processor=[controls.logits_processor],
            stopping_criteria=[controls.stopping_criteria],
            max_new_tokens=max(pages[index].budget for index in readable),
            do_sample=False,
            num_beams=1,
            no_repeat_ngram_size=0,  # a generation_config.json may have one, where the page's own counts
            **_UNSAMPLED,
        )
        ended_s, first_s = time.perf_counter(), controls.first_s or time.perf_counter()
        total_steps = max(1, sum(controls.num_steps))
        for row, index in enumerate(readable):
            steps = controls.num_steps[row]
            yield self._done(
                index,
                pages[index],
                num_steps=max(0, steps - 1),  # the first token came with the prompt
                prefill_s=(first_s - controls.started_s) / len(readable),
                generate_s=(ended_s - first_s) * steps / total_steps,
            )

    def _start(self, page: PromptedPage) -> PageReading:
        return begin_reading(
            self._writer.tokenizer,
            self._writer.num_positions,
            page.num_tokens,
            page.request.settings,
        )

    def _done(
        self, index: int, page: PageReading, *, num_steps: int, prefill_s: float, generate_s: float
    ) -> PageRead:
        return PageRead(
            index=index,
            transcript=page.transcript(self._writer.tokenizer),
            num_steps=num_steps,
            prefill_s=prefill_s,
            generate_s=generate_s,
        )


def _batches(requests: Iterable[PageRequest | None], most: int) -> Iterator[dict[int, PageRequest]]:
    """Yields pages with their numbers, from 0: as many as are ready, at most so many at once."""
    batch: dict[int, PageRequest] = {}
    index = 0
    for request in requests:
        if request is not None:
            batch[index] = request
            index += 1
        if len(batch) == most or (request is None and batch):
            yield batch
            batch = {}
    if batch:
        yield batch

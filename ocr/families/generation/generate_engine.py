"""Writes pages' texts with transformers' own generate, several pages at once, each held to its limits."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from encoders.vision_encoder import PageEncoder
from ocr.decoding.requests import PageRead, PageRequest
from ocr.decoding.sequence.page_reading import PageReading, begin_reading
from ocr.imaging.tiling import Mode
from ocr.transcript.page_breaks import asked_together
from ocr.types import OutputFormat

_NO_END = -1
# Published settings of sampling, which generate warns of where it does not use them.
_UNSAMPLED = {"temperature": None, "top_p": None, "top_k": None}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PromptedPage:
    """A page with its prompt as its family made it. num_tokens: of the prompt, vision tokens included."""

    request: PageRequest
    prompt: Any
    num_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TransformersReader(ABC):
    """A model that writes with transformers' generate, as ocr.families.page_model.PageModel.

    A family's own says how pages are encoded, prompted and put together. model: transformers', which has `generate`.
    eos_ids: the tokens that end a text. pad_id: what fills the prompts of a batch. pages_prompt: the published one for
    several pages, None where there is none.
    """

    name: str
    model: Any
    tokenizer: Tokenizer
    prompt: str
    output_format: OutputFormat
    eos_ids: frozenset[int]
    pad_id: int
    pages_prompt: str | None = None

    @abstractmethod
    def vision_encoder(self, mode: Mode) -> PageEncoder:
        """Returns the vision encoder. mode: how pages are tiled, for families whose pages are."""

    @abstractmethod
    def prompted(self, request: PageRequest) -> PromptedPage:
        """Returns a page with its prompt, made once. Raises: PromptError."""

    @abstractmethod
    def inputs(self, pages: Sequence[PromptedPage]) -> Mapping[str, Any]:
        """Returns generate's arguments for pages together, padded on the left."""

    @property
    def device(self) -> torch.device:
        device: torch.device = self.model.device
        return device

    @property
    def num_positions(self) -> int:
        """The most tokens of a page, prompt included."""
        return int(self.model.config.get_text_config().max_position_embeddings)

    def prompt_for(self, num_pages: int) -> str:
        """Returns the prompt for so many pages, of a family that takes several."""
        return self.pages_prompt or asked_together(self.prompt, num_pages)

    def generate(self, pages: Sequence[PromptedPage], **controls: Any) -> None:
        """Runs transformers' generate on pages together. controls: its arguments besides the inputs."""
        self.model.generate(
            **self.inputs(pages), **controls, eos_token_id=sorted(self.eos_ids), pad_token_id=self.pad_id
        )

    def engine(self, *, prompt: str, num_slots: int, kv_bytes: int | None = None) -> "GenerateEngine":
        """Returns the engine; the prompt is the one that the model was loaded with."""
        return GenerateEngine(self, num_slots=num_slots)

    def paged_reader(self, *, prompt: str, slots: int, max_tokens: int) -> None:
        """Returns None: there is no faster engine."""
        return


def padded(rows: Sequence[Tensor], filler: int = 0) -> Tensor:
    """Returns rows [L, ...] of several lengths as [B, longest, ...], filled on the left."""
    flipped = pad_sequence([row.flip(0) for row in rows], batch_first=True, padding_value=filler)
    return flipped.flip(1)


class Controls:
    """What pages that are generated together share. Shapes: B pages, L tokens so far, V vocabulary.

    eos_ids: tokens that end a text. check: called before each token; it may raise to break off. started_s, first_s:
    time.perf_counter() when generating began and when the first token was chosen.
    """

    def __init__(
        self, pages: Sequence[PageReading], eos_ids: frozenset[int], check: Callable[[], None] | None
    ) -> None:
        self.pages = pages
        self.eos_ids = eos_ids
        self.num_steps = [0] * len(pages)
        self.started_s = time.perf_counter()
        self.first_s: float | None = None
        self._check = check
        self._going = [True] * len(pages)
        self._logprobs_BV = torch.empty(0)

    def choose_from(self, input_ids: Tensor, scores_BV: Tensor) -> Tensor:
        """Returns the scores that the next tokens are chosen by: banned ones never, with noise where pages sample.

        A logits processor of transformers' generate, as take() is one of its stopping criteria.
        """
        if self._check is not None:
            self._check()
        if self.first_s is None:
            self.first_s = time.perf_counter()
        scores_BV = scores_BV.float()
        self._logprobs_BV = scores_BV.log_softmax(-1)
        for row, page in enumerate(self.pages):
            banned = page.ban.banned() if self._going[row] else ()
            noise_V = page.noise(scores_BV.shape[-1]) if self._going[row] else None
            if noise_V is not None:
                scores_BV[row] += noise_V.to(scores_BV.device)
            if banned:
                scores_BV[row, list(banned)] = float("-inf")
        return scores_BV

    def take(self, input_ids_BL: Tensor, scores: Any, **kwargs: Any) -> Tensor:
        """Records the tokens chosen, the last ones, and returns which pages end with them, [B] bool.

        Raises: DecodeError where logits are not numbers.
        """
        tokens = input_ids_BL[:, -1]
        logprobs = self._logprobs_BV.gather(1, tokens[:, None].to(self._logprobs_BV.device))[:, 0].tolist()
        for row, (token, logprob) in enumerate(zip(tokens.tolist(), logprobs, strict=True)):
            if self._going[row]:
                self.num_steps[row] += 1
                end = token if token in self.eos_ids else _NO_END
                self._going[row] = self.pages[row].take(token, logprob, end)
        return torch.tensor([not going for going in self._going], device=tokens.device)


class GenerateEngine:
    """Reads pages in batches: those that are ready, up to num_slots. A batch ends with its longest page.

    Choosing the likeliest token gives what `model.generate(do_sample=False)` does, unless a page's n-gram, loop or
    length limits, or a temperature, say otherwise.
    """

    def __init__(self, model: TransformersReader, *, num_slots: int) -> None:
        assert num_slots >= 1
        self._model, self._num_slots = model, num_slots

    @torch.inference_mode()
    def read(
        self, requests: Iterable[PageRequest | None], check: Callable[[], None] | None = None
    ) -> Iterator[PageRead]:
        """Yields each page once its batch is finished; see ocr.decoding.gpu.reader.PagedReader.read."""
        for batch in _batches(requests, self._num_slots):
            if check is not None:
                check()
            yield from self._read(batch, check)

    def _read(self, batch: Mapping[int, PageRequest], check: Callable[[], None] | None) -> Iterator[PageRead]:
        model = self._model
        prompted = {index: model.prompted(request) for index, request in batch.items()}
        pages = {
            index: begin_reading(model.tokenizer, model.num_positions, page.num_tokens, page.request.settings)
            for index, page in prompted.items()
        }
        for index, page in pages.items():
            if page.budget <= 0:
                yield self._done(index, page, prefill_s=0.0, generate_s=0.0)
        readable = [index for index, page in pages.items() if page.budget > 0]
        if not readable:
            return
        controls = Controls([pages[index] for index in readable], model.eos_ids, check)
        model.generate(
            [prompted[index] for index in readable],
            logits_processor=[controls.choose_from],
            stopping_criteria=[controls.take],
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
                prefill_s=(first_s - controls.started_s) / len(readable),
                generate_s=(ended_s - first_s) * steps / total_steps,
            )

    def _done(self, index: int, page: PageReading, *, prefill_s: float, generate_s: float) -> PageRead:
        return PageRead(
            index=index,
            transcript=page.transcript(self._model.tokenizer),
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

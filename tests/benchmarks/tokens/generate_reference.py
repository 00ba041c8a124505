"""Runs transformers' own greedy `generate` under our rules: the tokens that our engines must write.

The n-gram ban is a logits processor, our ends a stopping criterion; it also records how close each choice was.

Shapes: B pages, L tokens of a prompt, V vocabulary, T tokens chosen, D width.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers import LogitsProcessor, LogitsProcessorList, StoppingCriteria, StoppingCriteriaList

from ocr.checkpoints.checkpoint import LoadedModel
from ocr.decoding.requests import PageRequest
from ocr.decoding.sequence.page_reading import PageReading, start_reading
from ocr.model.prompt import encode_prompt, splice
from ocr.types import Finish
from pipeline.bench.reference import load_reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A page as generate reads it.

    tokens: written, as in ocr.types.Transcript. chosen: tokens fed, the end of the text included; it differs from
    tokens where a leader replaces a banned token. gaps: for each choice, its logit minus that of
    the second allowed token, which is in seconds.
    """

    tokens: list[int]
    chosen: list[int]
    finish: Finish
    gaps: list[float]
    seconds: list[int]


@dataclass(slots=True)
class _Page:
    reading: PageReading
    goes_on: bool = True
    chosen: list[int] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    seconds: list[int] = field(default_factory=list)


class _Allowed(LogitsProcessor):  # type: ignore[misc]
    """Keeps each row's allowed logits, and records the choices."""

    def __init__(self, pages: Sequence[_Page], eos_id: int) -> None:
        self._pages = pages
        self._eos_id = eos_id

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        allowed_BV = scores.clone()
        for row, page in enumerate(self._pages):
            if page.goes_on:
                allowed_BV[row] = self._choose(page, scores[row])
        return allowed_BV

    def _choose(self, page: _Page, logits_V: Tensor) -> Tensor:
        reading = page.reading
        allowed_V = _without(logits_V, reading.ban.banned())
        token = int(allowed_V.argmax())
        others_V = _without(allowed_V, {token})
        page.chosen.append(token)
        page.seconds.append(int(others_V.argmax()))
        page.gaps.append(float(allowed_V[token] - others_V.max()))
        page.goes_on = reading.take(token, float(logits_V[token]), self._eos_id)
        return allowed_V


class _Ended(StoppingCriteria):  # type: ignore[misc]
    """Ends rows after their last token."""

    def __init__(self, pages: Sequence[_Page]) -> None:
        self._pages = pages

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        return torch.tensor([not page.goes_on for page in self._pages], device=input_ids.device)


def _without(logits_V: Tensor, tokens: set[int]) -> Tensor:
    left_V = logits_V.clone()
    left_V[list(tokens)] = -torch.inf
    return left_V


class GenerateReference:
    """transformers' model with the same weights. dtype: the model's own by default."""

    def __init__(self, loaded: LoadedModel, dtype: torch.dtype | None = None) -> None:
        self._loaded = loaded
        self._model: Any = load_reference(loaded.model, dtype)
        self._ids = encode_prompt(loaded.tokenizer, loaded.prompt, bos_id=loaded.bos_id)

    @torch.inference_mode()
    def read(self, requests: Sequence[PageRequest]) -> list[Reference]:
        """Reads the pages as one batch, prompts padded on the left; a single page is not padded."""
        prompts = [self._prompt(request) for request in requests]
        longest = max(map(len, prompts))
        embeds_BLD = prompts[0].new_zeros(len(prompts), longest, prompts[0].shape[1])
        mask_BL = torch.zeros(len(prompts), longest, dtype=torch.long, device=embeds_BLD.device)
        for row, prompt_LD in enumerate(prompts):
            embeds_BLD[row, longest - len(prompt_LD) :] = prompt_LD
            mask_BL[row, longest - len(prompt_LD) :] = 1
        pages = [
            _Page(start_reading(self._loaded, len(prompt_LD), request.settings))
            for prompt_LD, request in zip(prompts, requests, strict=True)
        ]
        eos_id = self._loaded.eos_id
        found = self._model.generate(
            inputs_embeds=embeds_BLD,
            attention_mask=mask_BL,
            max_new_tokens=max(page.reading.budget for page in pages),
            do_sample=False,
            eos_token_id=eos_id,
            pad_token_id=eos_id,
            logits_processor=LogitsProcessorList([_Allowed(pages, eos_id)]),
            stopping_criteria=StoppingCriteriaList([_Ended(pages)]),
        ).tolist()
        for page, row in zip(pages, found, strict=True):
            assert row[: len(page.chosen)] == page.chosen, "generate took another token than was chosen"
        return [
            Reference(
                tokens=page.reading.tokens,
                chosen=page.chosen,
                finish=page.reading.finish,
                gaps=page.gaps,
                seconds=page.seconds,
            )
            for page in pages
        ]

    @torch.inference_mode()
    def logits(self, request: PageRequest, chosen: Sequence[int]) -> Tensor:
        """Returns fp32 [T, V], the logits that each chosen token is taken from, all in one forward."""
        prompt_LD = self._prompt(request)
        fed = torch.tensor(chosen[:-1], dtype=torch.long, device=prompt_LD.device)
        embeds_LD = torch.cat((prompt_LD, self._model.get_input_embeddings()(fed)))
        found = self._model(inputs_embeds=embeds_LD[None], use_cache=False, logits_to_keep=len(chosen))
        logits_TV: Tensor = found.logits[0].float()
        return logits_TV

    def _prompt(self, request: PageRequest) -> Tensor:
        return splice(self._model.get_input_embeddings(), self._ids, [request.vision.tokens_TD])[0]

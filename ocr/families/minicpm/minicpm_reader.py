"""MiniCPM-V as a run uses it."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from encoders.minicpm.slices_encoder import Placeholders, SlicesEncoder
from ocr.decoding.requests import PageRequest
from ocr.families.family import Loading
from ocr.families.generation.generate_engine import PromptedPage, TransformersReader, padded
from ocr.families.minicpm.minicpm_model import MiniCpmModel, load_minicpm
from ocr.families.minicpm.prompts import page_prompt, stop_ids
from ocr.imaging.tiling import Mode
from ocr.model_files.locate import read_tokenizer
from ocr.types import OutputFormat

# The publisher gives none for pages; docling's for general models.
PROMPT = "Convert this page to markdown. Do not miss any text and only output the bare markdown!"


def load(asked: Loading) -> "MiniCpmReader":
    """Returns the model. Raises: CheckpointError."""
    whole = load_minicpm(
        asked.directory,
        device=torch.device(asked.device),
        dtype=getattr(torch, asked.dtype),
        encoder_dtype=getattr(torch, asked.encoder_dtype),
    )
    tokenizer = read_tokenizer(asked.directory / "tokenizer.json")
    ends = stop_ids(tokenizer, whole.config.version)
    return MiniCpmReader(
        name=asked.name,
        model=whole.llm,
        whole=whole,
        tokenizer=tokenizer,
        prompt=asked.prompt or PROMPT,
        output_format=OutputFormat(name="markdown"),  # what PROMPT asks for
        eos_ids=frozenset(ends),
        pad_id=min(ends),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MiniCpmReader(TransformersReader):
    """whole: the model with its vision parts."""

    whole: MiniCpmModel

    def vision_encoder(self, mode: Mode) -> SlicesEncoder:
        return self.whole.vision_encoder()

    def prompted(self, request: PageRequest) -> PromptedPage:
        """Returns a page with its PagePrompt. Raises: PromptError."""
        notes = [item.note for item in request.items if isinstance(item.note, Placeholders)]
        assert len(notes) == len(request.items), "pages of this model were encoded by it"
        question = request.prompt or self.prompt
        prompt = page_prompt(self.tokenizer, self.whole.config.version, question, *notes)
        return PromptedPage(request=request, prompt=prompt, num_tokens=len(prompt.ids))

    def inputs(self, pages: Sequence[PromptedPage]) -> dict[str, Tensor]:
        seen = [torch.cat([item.tokens_TD for item in page.request.items]) for page in pages]
        rows = [
            self.whole.inputs_embeds(page.prompt, tokens) for page, tokens in zip(pages, seen, strict=True)
        ]
        return {
            "inputs_embeds": padded(rows),
            "attention_mask": padded([torch.ones_like(row[:, 0], dtype=torch.int64) for row in rows]),
        }

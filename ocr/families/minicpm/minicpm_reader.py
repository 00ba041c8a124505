"""MiniCPM-V as a run uses it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor
from transformers import PreTrainedModel

from encoders.minicpm.slices_encoder import Placeholders, SlicesEncoder
from ocr.decoding.requests import PageRequest
from ocr.families.family import NumberFormat
from ocr.families.generation.generate_engine import GeneratingModel, PromptedPage, padded
from ocr.families.minicpm.minicpm_files import load_minicpm
from ocr.families.minicpm.minicpm_model import MiniCpmModel
from ocr.families.minicpm.prompts import page_prompt, stop_ids
from ocr.imaging.tiling import Mode
from ocr.model_files.locate import read_tokenizer
from ocr.types import OutputFormat

# The publisher gives none for pages; docling's for general models.
PROMPT = "Convert this page to markdown. Do not miss any text and only output the bare markdown!"


def load(
    directory: Path,
    *,
    name: str,
    device: str,
    dtype: NumberFormat,
    encoder_dtype: NumberFormat,
    prompt: str | None,
) -> "MiniCpmReader":
    """Returns the model; see ocr.families.family.Family.load. Raises: CheckpointError."""
    model = load_minicpm(
        directory,
        device=torch.device(device),
        dtype=getattr(torch, dtype),
        encoder_dtype=getattr(torch, encoder_dtype),
    )
    tokenizer = read_tokenizer(directory / "tokenizer.json")
    eos_ids = frozenset(stop_ids(tokenizer, model.config.version))
    return MiniCpmReader(
        name=name, model=model, tokenizer=tokenizer, prompt=prompt or PROMPT, eos_ids=eos_ids
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MiniCpmReader(GeneratingModel):
    """Implements ocr.families.page_model.PageModel."""

    name: str
    model: MiniCpmModel
    tokenizer: Tokenizer
    prompt: str
    eos_ids: frozenset[int]

    @property
    def output_format(self) -> OutputFormat:
        """What PROMPT asks for."""
        return OutputFormat(name="markdown")

    @property
    def writer(self) -> PreTrainedModel:
        return self.model.llm

    def vision_encoder(self, mode: Mode) -> SlicesEncoder:
        return self.model.vision_encoder()

    def prompted(self, request: PageRequest) -> PromptedPage:
        """Returns a page with its PagePrompt. Raises: PromptError."""
        note = request.vision.note
        assert isinstance(note, Placeholders), "pages of this model were encoded by it"
        prompt = page_prompt(self.tokenizer, self.model.config.version, self.prompt, note)
        return PromptedPage(request=request, prompt=prompt, num_tokens=len(prompt.ids))

    def inputs(self, pages: Sequence[PromptedPage]) -> dict[str, Tensor]:
        """Returns generate's arguments for pages together, padded on the left."""
        rows = [self.model.inputs_embeds(page.prompt, page.request.vision.tokens_TD) for page in pages]
        return {
            "inputs_embeds": padded(rows),
            "attention_mask": padded([torch.ones_like(row[:, 0], dtype=torch.int64) for row in rows]),
        }

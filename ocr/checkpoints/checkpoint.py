"""Loads models under the published tensor names."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from tokenizers import Tokenizer
from torch import Tensor

from encoders.square_views import SquareViewsEncoder
from ocr.checkpoints.model_weights import IGNORED, fill, slots
from ocr.errors import CheckpointError
from ocr.imaging.tiling import MODES, Mode
from ocr.model.deepseek_ocr import DEFAULT_PROMPT, OcrConfig, OcrModel
from ocr.model_files.locate import (
    find_directory,
    read_json,
    read_tokenizer,
    weight_files,
)
from ocr.types import OutputFormat

if TYPE_CHECKING:
    from ocr.decoding.gpu.reader import PagedReader

BOS, EOS = "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """A model ready to read pages.

    model: in evaluation mode, without gradients. name: the name or path it was loaded by.
    """

    model: OcrModel
    tokenizer: Tokenizer
    name: str
    bos_id: int
    eos_id: int
    prompt: str = DEFAULT_PROMPT

    @property
    def device(self) -> torch.device:
        """The device of its weights."""
        return self.model.device

    def vision_encoder(self, mode: Mode) -> SquareViewsEncoder:
        """Returns the vision encoder for pages tiled in a mode, its weights laid out as its device wants them."""
        spec = MODES[mode]
        if self.device.type == "cuda":
            self.model.encoder.store_channels_last()
        return SquareViewsEncoder(self.model.encoder, spec.base_px, has_tiles=spec.crop)

    @property
    def output_format(self) -> OutputFormat:
        """How it writes a page's text."""
        return OutputFormat(name="ref_det", keeps_special_tokens=True)

    def engine(self, *, prompt: str, num_slots: int, kv_bytes: int | None = None) -> "PagedReader":
        """Returns an engine for any device. Raises: ocr.model.prompt.PromptError."""
        from ocr.decoding.gpu.reader import PagedReader

        return PagedReader.plain(self, prompt=prompt, num_slots=num_slots, kv_bytes=kv_bytes)

    def paged_reader(self, *, prompt: str, slots: int, max_tokens: int) -> "PagedReader | None":
        """Returns the engine for CUDA and a number format of 16 bits, after a trial; elsewhere None.

        Raises: see ocr.decoding.gpu.reader.PagedReader.open.
        """
        if self.device.type != "cuda" or self.model.dtype.itemsize != 2:
            return None
        from ocr.decoding.gpu.reader import PagedReader

        return PagedReader.open(self, prompt=prompt, slots=slots, max_tokens=max_tokens)


def load(
    name_or_path: str,
    *,
    device: str | torch.device,
    dtype: torch.dtype,
    encoder_dtype: torch.dtype | None = None,
) -> LoadedModel:
    """Returns the model of that name: a directory or a hub id such as deepseek-ai/DeepSeek-OCR.

    encoder_dtype: that of the vision encoder, where it differs from dtype.

    Weights are mapped from the file and converted or copied tensor by tensor, so they are never held twice.
    Raises: CheckpointError, naming the file, key or tensors and what to do.
    """
    directory = find_directory(name_or_path)
    config_json = read_json(directory / "config.json")
    config = OcrConfig.from_json(config_json)
    tokenizer = read_tokenizer(directory / "tokenizer.json")
    num_ids = tokenizer.get_vocab_size(with_added_tokens=True)
    if num_ids > config.language.vocab_size:
        raise CheckpointError(
            f"{directory}: tokenizer.json has {num_ids} tokens, config.json a vocab_size of "
            f"{config.language.vocab_size}; they belong to different models, fetch both again together"
        )
    with torch.device("meta"):
        model = OcrModel(config)
    fill(
        model,
        slots(model),
        weight_files(directory),
        torch.device(device),
        lambda name: (encoder_dtype or dtype) if name.startswith("encoder.") else dtype,
        unused=IGNORED,
        remedy="the config.json published with these weights, and weights under DeepSeek-OCR's published names",
    )
    text = model.language_model
    text.rotary_emb = type(text.rotary_emb)(text.config).to(device)  # no checkpoint holds its tables
    ids = {**config_json["language_config"], **config_json}
    return LoadedModel(
        model=model,
        tokenizer=tokenizer,
        name=name_or_path,
        bos_id=_token_id(tokenizer, BOS, ids.get("bos_token_id"), directory),
        eos_id=_token_id(tokenizer, EOS, ids.get("eos_token_id"), directory),
    )


def published(model: OcrModel) -> dict[str, Tensor]:
    """Returns the model's tensors under their published names, on the host."""
    found = {}
    for key, slot in slots(model).items():
        tensor = model.get_parameter(slot.parameter).detach()
        found[key] = (tensor if slot.index is None else tensor[slot.index]).cpu().contiguous()
    return found


def _token_id(tokenizer: Tokenizer, token: str, configured: object, directory: Path) -> int:
    """Returns the id that config.json gives, else the tokenizer's id of the token."""
    found: int | None = configured if isinstance(configured, int) else tokenizer.token_to_id(token)
    if found is None:
        raise CheckpointError(
            f"{directory / 'tokenizer.json'} has no token {token!r}; use the tokenizer.json published with "
            "the model"
        )
    return found

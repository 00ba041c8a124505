"""MiniCPM-V: vision transformer, resampler and language model, under their published names, how they load and read.

From config.json and safetensors; nothing in the files is executed.
Source: openbmb/MiniCPM-Llama3-V-2_5, MiniCPM-V-2_6, MiniCPM-V-4 and MiniCPM-V-4_5 (modeling_minicpmv.py).
Shapes: L tokens of a prompt, T vision tokens, D width.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from huggingface_hub.errors import StrictDataclassError
from torch import Tensor, nn
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedConfig,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)
from transformers.models.idefics2.configuration_idefics2 import Idefics2VisionConfig

from encoders.minicpm.resampler import HEAD_WIDTH, Resampler, ResamplerConfig
from encoders.minicpm.siglip import SiglipVit
from encoders.minicpm.slices_encoder import Placeholders, SlicesEncoder, VisionConfig
from ocr.checkpoints.model_weights import Slot, fill
from ocr.decoding.requests import PageRequest
from ocr.errors import CheckpointError
from ocr.families.family import Loading
from ocr.families.generation.generate_engine import PromptedPage, TransformersReader, padded
from ocr.families.minicpm.prompts import PagePrompt, page_prompt, stop_ids
from ocr.families.minicpm.versions import Version, section, version_of, whole_number
from ocr.imaging.tiling import Mode
from ocr.model_files.locate import read_json, read_tokenizer, weight_files
from ocr.types import OutputFormat

_LANGUAGE: dict[Version, tuple[Any, Any]] = {
    "2.5": (LlamaConfig, LlamaForCausalLM),
    "2.6": (Qwen2Config, Qwen2ForCausalLM),
    "4.0": (LlamaConfig, LlamaForCausalLM),
    "4.5": (Qwen3Config, Qwen3ForCausalLM),
}
# The publisher gives none for pages; docling's for general models.
PROMPT = "Convert this page to markdown. Do not miss any text and only output the bare markdown!"
# In older files beside the language model's fields; transformers gathers them in rope_parameters.
_ROPE_KEYS = ("rope_theta", "rope_scaling")
# The vision transformer's sizes where vision_config has none.
_VIT = {
    "hidden_size": 1152, "num_hidden_layers": 27, "num_attention_heads": 16, "intermediate_size": 4304,
    "image_size": 980, "patch_size": 14,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MiniCpmConfig:
    """A model's sizes. language: transformers'. embedding_scale: that text embeddings are multiplied with."""

    version: Version
    vision: VisionConfig
    language: PreTrainedConfig
    embedding_scale: float = 1.0

    @classmethod
    def from_json(cls, config: Mapping[str, Any]) -> "MiniCpmConfig":
        """Returns the sizes in a config.json, the language model's fields beside the others.

        Raises: CheckpointError for values that make no sense, or weights in a compressed format.
        """
        if "quantization_config" in config:
            raise CheckpointError(
                "config.json has a quantization_config: these weights are compressed; use the model's own, without"
            )
        version = version_of(config)
        config_class, _ = _LANGUAGE[version]
        # Those of every config, such as architectures, are the whole model's.
        known = {field.name for field in fields(config_class)} - {
            field.name for field in fields(PreTrainedConfig)
        }
        known |= set(_ROPE_KEYS)
        try:
            language = config_class(**{key: value for key, value in config.items() if key in known})
        except (TypeError, ValueError, KeyError, StrictDataclassError) as error:
            raise CheckpointError(
                f"config.json does not describe MiniCPM-V {version}'s language model ({error}); use the one "
                "published with the model"
            ) from error
        return cls(
            version=version,
            vision=_vision(config, version, language.hidden_size),
            language=language,
            embedding_scale=float(config.get("scale_emb", 1.0)),
        )


def _vision(config: Mapping[str, Any], version: Version, width: int) -> VisionConfig:
    values = section(config, "vision_config")
    sizes = {key: whole_number(values, key, default) for key, default in _VIT.items()}
    sizes["num_hidden_layers"] -= bool(config.get("drop_vision_last_layer", True))
    activation = values.get("hidden_act", "gelu_pytorch_tanh")
    if activation != "gelu_pytorch_tanh" or width % HEAD_WIDTH:
        raise CheckpointError(
            f"config.json: vision_config.hidden_act is {activation!r} and hidden_size {width}; this can load "
            f"gelu_pytorch_tanh, and multiples of {HEAD_WIDTH}: use the config.json published with the model"
        )
    vit = Idefics2VisionConfig(**sizes, layer_norm_eps=float(values.get("layer_norm_eps", 1e-6)))
    queries = whole_number(config, "query_num", 64)
    return VisionConfig(
        vit=vit,
        resampler=ResamplerConfig(num_queries=queries, width=width, feature_width=vit.hidden_size),
        slice_px=whole_number(section(config, "slice_config"), "scale_resolution", 448),
        flat_positions=version == "2.5",
        has_times=version == "4.5",
    )


class MiniCpmModel(nn.Module):
    """The whole model. Built under torch.device("meta") it holds no weights."""

    def __init__(self, config: MiniCpmConfig) -> None:
        super().__init__()
        self.config = config
        _, language_class = _LANGUAGE[config.version]
        self.llm: PreTrainedModel = language_class(config.language)
        self.vpm = SiglipVit(config.vision.vit)
        self.resampler = Resampler(config.vision.resampler)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "MiniCpmModel":
        """Returns a new model of the sizes in a config.json. Raises: CheckpointError."""
        return cls(MiniCpmConfig.from_json(config))

    def vision_encoder(self) -> SlicesEncoder:
        """Returns its vision encoder, which shares its weights."""
        return SlicesEncoder(self.vpm, self.resampler, self.config.vision)

    def inputs_embeds(self, prompt: PagePrompt, tokens_TD: Tensor) -> Tensor:
        """Returns a page's prompt as the language model reads it, [L, D]: embeddings, vision tokens in their places.

        In the embedding's number format and on its device. tokens: T = len(prompt.places).
        """
        embed = self.llm.get_input_embeddings()
        weight: Tensor = embed.weight
        embeds: Tensor = embed(torch.tensor(prompt.ids, device=weight.device)) * self.config.embedding_scale
        places = torch.tensor(prompt.places, device=weight.device)
        return embeds.index_copy(0, places, tokens_TD.to(device=weight.device, dtype=embeds.dtype))


_TIED = "llm.lm_head.weight"


def load_minicpm(
    directory: Path, *, device: torch.device, dtype: torch.dtype, encoder_dtype: torch.dtype
) -> MiniCpmModel:
    """Returns the model in a directory, in evaluation mode and without gradients.

    encoder_dtype: of vision transformer and resampler. Raises: CheckpointError, naming files or tensors and the remedy.
    """
    config = read_json(directory / "config.json")
    with torch.device("meta"):
        model = MiniCpmModel.from_config(config)
    tied = model.config.language.tie_word_embeddings
    places = {name: Slot(name, None, tuple(weight.shape)) for name, weight in model.named_parameters()}
    fill(
        model,
        places,
        weight_files(directory),
        device,
        lambda name: dtype if name.startswith("llm.") else encoder_dtype,
        unused=[_TIED] if tied else (),
    )
    if tied:
        model.llm.tie_weights()
    # Tables that no file holds; the language model's were made without values.
    rotary = model.llm.model.rotary_emb
    model.llm.model.rotary_emb = type(rotary)(model.config.language).to(device)
    model.resampler.to(device)
    return model


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

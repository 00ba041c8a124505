"""DeepSeek-OCR as one module: the vision encoder, the mixture-of-experts language model, the output head.

The configuration is the published config.json.
Source: deepseek-ai/DeepSeek-OCR.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from transformers import UnlimitedOcrTextConfig, UnlimitedOcrTextModel

from encoders.deepseek.clip import ClipConfig
from encoders.deepseek.deep_encoder import DeepEncoder, EncoderConfig
from encoders.deepseek.sam import SamConfig
from ocr.errors import CheckpointError

DEFAULT_PROMPT = "<image>\n<|grounding|>Convert the document to markdown."
_SAM, _CLIP = "sam_vit_b", "clip-l-14-224"
# vision_config's names of the encoders' sizes.
_CLIP_SIZES = {
    "width": "width", "num_layers": "layers", "num_heads": "heads", "mlp_dim": "mlp_dim",
}  # fmt: skip
_SAM_SIZES = _CLIP_SIZES | {
    "patch_px": "patch_size", "window": "window_size", "global_layers": "global_attn_indexes",
    "neck_channels": "neck_channels", "downsample_channels": "downsample_channels",
}  # fmt: skip
_REQUIRED = ("width", "num_layers", "num_heads")
# Keys of language_config that would make it another model, with the only value that this one supports.
_FIXED = {
    "use_mla": False, "norm_topk_prob": False, "scoring_func": "softmax", "moe_layer_freq": 1,
    "tie_word_embeddings": False,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageConfig:
    """Sizes of the language model. Names and meanings are language_config's; defaults are the published model's.

    first_k_dense_replace: the number of leading layers with a plain feed-forward part instead of experts.
    num_key_value_heads: may divide num_attention_heads (grouped-query attention).
    """

    vocab_size: int = 129280
    hidden_size: int = 1280
    intermediate_size: int = 6848
    num_hidden_layers: int = 12
    num_attention_heads: int = 10
    num_key_value_heads: int = 10
    max_position_embeddings: int = 8192
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10000.0
    first_k_dense_replace: int = 1
    n_routed_experts: int = 64
    n_shared_experts: int = 2
    num_experts_per_tok: int = 6
    moe_intermediate_size: int = 896
    topk_method: str = "greedy"
    n_group: int = 1
    topk_group: int = 1
    routed_scaling_factor: float = 1.0
    bos_token_id: int = 0
    eos_token_id: int = 1

    def to_transformers(self) -> UnlimitedOcrTextConfig:
        """Returns transformers' configuration of this model, with full attention in every layer."""
        values = asdict(self)
        theta = values.pop("rope_theta")
        return UnlimitedOcrTextConfig(
            **values,
            rope_parameters={"rope_type": "default", "rope_theta": theta},
            layer_types=["full_attention"] * self.num_hidden_layers,
            sliding_window=128,  # unused by full attention; the class refuses None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OcrConfig:
    """A model's config.json."""

    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    language: LanguageConfig = field(default_factory=LanguageConfig)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "OcrConfig":
        """Returns the configuration in a config.json of the published layout.

        Raises: CheckpointError for another model type, a missing key, or a value that this model does not support.
        """
        if data.get("model_type") != "deepseek_vl_v2":
            raise CheckpointError(
                f"config.json: model_type is {data.get('model_type')!r}, but only 'deepseek_vl_v2' "
                "(DeepSeek-OCR and models of its shape) can be loaded; choose such a model"
            )
        try:
            encoder = _read_encoder(data)
            language = _read_language(data["language_config"])
        except (KeyError, TypeError, ValueError) as error:
            what = f"key {error} is missing" if isinstance(error, KeyError) else str(error)
            raise CheckpointError(f"config.json: {what}; compare it with DeepSeek-OCR's") from error
        if encoder.embed_dim != language.hidden_size:
            raise CheckpointError(
                f"config.json: projector_config.n_embed is {encoder.embed_dim}, language_config.hidden_size "
                f"{language.hidden_size}; they must be equal"
            )
        return cls(encoder=encoder, language=language)


def _read_language(data: Mapping[str, Any]) -> LanguageConfig:
    for key, value in _FIXED.items():
        if data.get(key, value) != value:
            raise ValueError(f"language_config.{key} is {data[key]!r}, but this model knows only {value!r}")
    required = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
    for key in required:
        data[key]
    names = LanguageConfig.__dataclass_fields__
    known = {key: value for key, value in data.items() if key in names and value is not None}
    known.setdefault("num_key_value_heads", data["num_attention_heads"])
    return LanguageConfig(**known)


def _read_encoder(data: Mapping[str, Any]) -> EncoderConfig:
    widths, projector = data["vision_config"]["width"], data["projector_config"]
    sam, clip = widths[_SAM], widths[_CLIP]
    _, second = sam["downsample_channels"]
    sam_sizes = _read_sizes(sam, _SAM_SIZES, (*_REQUIRED, "global_layers"))
    patch_px = sam_sizes.get("patch_px", SamConfig().patch_px)
    encoder = EncoderConfig(
        sam=SamConfig(**sam_sizes, pos_grid=sam.get("image_size", 1024) // patch_px),
        clip=ClipConfig(
            **_read_sizes(clip, _CLIP_SIZES, _REQUIRED), pos_grid=clip["image_size"] // clip["patch_size"]
        ),
        embed_dim=projector["n_embed"],
    )
    if projector["input_dim"] != clip["width"] + second:
        raise ValueError(
            f"projector_config.input_dim is {projector['input_dim']}, but CLIP's width plus SAM's last "
            f"channels is {clip['width'] + second}"
        )
    return encoder


def _read_sizes(
    found: Mapping[str, Any], names: Mapping[str, str], required: Sequence[str]
) -> dict[str, Any]:
    """Returns sizes under our names. Those that are neither there nor required have defaults. Raises: KeyError."""
    sizes = {ours: found[theirs] for ours, theirs in names.items() if theirs in found or ours in required}
    sizes.setdefault("mlp_dim", 4 * sizes["width"])
    return {name: tuple(value) if isinstance(value, list) else value for name, value in sizes.items()}


class OcrModel(nn.Module):
    """DeepSeek-OCR: encoder, language model and output head. Built under torch.device("meta") it holds no weights.

    The language model is transformers' `UnlimitedOcrTextModel`: DeepSeek-V2's decoder without MLA.
    """

    def __init__(self, config: OcrConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = DeepEncoder(config.encoder)
        self.language_model = UnlimitedOcrTextModel(config.language.to_transformers())
        self.lm_head = nn.Linear(config.language.hidden_size, config.language.vocab_size, bias=False)

    def forward(self, embeds_BTD: Tensor, **kwargs: Any) -> Tensor:
        """Returns the logits of a whole sequence, embeddings [B, T, D] -> [B, T, vocab].

        Kwargs: the language model's.
        """
        hidden = self.language_model(inputs_embeds=embeds_BTD, use_cache=False, **kwargs).last_hidden_state
        logits: Tensor = self.lm_head(hidden)
        return logits

    @property
    def device(self) -> torch.device:
        """The device of its weights."""
        return self.lm_head.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """The number format of its output head."""
        return self.lm_head.weight.dtype

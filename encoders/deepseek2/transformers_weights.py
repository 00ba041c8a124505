"""DeepSeek-OCR-2's encoder from transformers' model (`deepseek_ocr2`): its sizes, and its weights, which are shared."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from encoders.deepseek.from_transformers import below, sam_config, sam_weights
from encoders.deepseek2.deep_encoder_v2 import DeepEncoderV2, EncoderV2Config
from encoders.deepseek2.query_encoder import QueryConfig

if TYPE_CHECKING:
    from transformers import DeepseekOcr2Config
    from transformers.models.deepseek_ocr2.modeling_deepseek_ocr2 import DeepseekOcr2Model


def encoder_config(config: "DeepseekOcr2Config") -> EncoderV2Config:
    """Returns the encoder's sizes. config: of the whole model."""
    queries = config.vision_config.encoder_config
    return EncoderV2Config(
        sam=sam_config(config.vision_config.sam_config),
        queries=QueryConfig(
            width=queries.hidden_size,
            num_layers=queries.num_hidden_layers,
            num_heads=queries.num_attention_heads,
            num_key_heads=queries.num_key_value_heads,
            mlp_dim=queries.intermediate_size,
            rope_theta=queries.rope_parameters["rope_theta"],
            rms_norm_eps=queries.rms_norm_eps,
        ),
        embed_dim=config.text_config.hidden_size,
    )


def encoder_of(model: "DeepseekOcr2Model") -> DeepEncoderV2:
    """Returns the model's encoder in evaluation mode, with the model's own tensors: no weight is held twice."""
    with torch.device("meta"):
        encoder = DeepEncoderV2(encoder_config(model.config))
    encoder.load_state_dict(encoder_weights(model.state_dict()), strict=True, assign=True)
    return encoder.eval().requires_grad_(False)


def encoder_weights(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Returns the encoder's tensors under DeepEncoderV2's names. state: DeepseekOcr2Model.state_dict()."""
    tower = "vision_tower."
    prefixes = {
        f"{tower}vision_encoder.": "qwen2_model.model.model.",
        f"{tower}query_768_resolution.": "qwen2_model.query_768.",
        f"{tower}query_1024_resolution.": "qwen2_model.query_1024.",
        "multi_modal_projector.": "projector.layers.",
    }
    found = {
        f"sam_model.{name}": value
        for name, value in sam_weights(below(state, f"{tower}sam_encoder.")).items()
    }
    for theirs, ours in prefixes.items():
        found |= {ours + name: value for name, value in below(state, theirs).items()}
    return found | {"view_seperator": state["view_separator"]}

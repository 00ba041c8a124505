"""The encoder of a model that transformers holds (`unlimited_ocr`): its sizes, and its weights, which are shared."""

from typing import TYPE_CHECKING

import torch

from encoders.deepseek.clip import ClipConfig
from encoders.deepseek.deep_encoder import DeepEncoder, EncoderConfig
from encoders.deepseek.sam import SamConfig
from encoders.deepseek.transformers_names import deep_encoder_weights, joined_projections

if TYPE_CHECKING:
    from transformers import UnlimitedOcrConfig
    from transformers.models.unlimited_ocr.modeling_unlimited_ocr import UnlimitedOcrModel


def encoder_config(config: "UnlimitedOcrConfig") -> EncoderConfig:
    """Returns the encoder's sizes. config: of the whole model."""
    sam, clip = config.vision_config.sam_config, config.vision_config.encoder_config
    first, second = sam.downsample_channels
    return EncoderConfig(
        sam=SamConfig(
            width=sam.hidden_size,
            num_layers=sam.num_hidden_layers,
            num_heads=sam.num_attention_heads,
            mlp_dim=sam.mlp_dim,
            patch_px=sam.patch_size,
            pos_grid=sam.image_size // sam.patch_size,
            window=sam.window_size,
            global_layers=tuple(sam.global_attn_indexes),
            use_rel_pos=sam.use_rel_pos,
            neck_channels=sam.output_channels,
            downsample_channels=(first, second),
            layer_norm_eps=sam.layer_norm_eps,
        ),
        clip=ClipConfig(
            width=clip.hidden_size,
            num_layers=clip.num_hidden_layers,
            num_heads=clip.num_attention_heads,
            mlp_dim=clip.intermediate_size,
            pos_grid=clip.image_size // clip.patch_size,
            layer_norm_eps=clip.layer_norm_eps,
        ),
        embed_dim=config.text_config.hidden_size,
    )


def encoder_of(model: "UnlimitedOcrModel") -> DeepEncoder:
    """Returns the model's encoder in evaluation mode, with the model's own tensors: no weight is held twice.

    Where ours joins projections that the model has apart, the model's become parts of the joined ones.
    """
    with torch.device("meta"):
        encoder = DeepEncoder(encoder_config(model.config))
    encoder.load_state_dict(deep_encoder_weights(model.state_dict()), strict=True, assign=True)
    for name, parts in joined_projections(model.state_dict()).items():
        joined = encoder.get_parameter(name)
        for part, own in zip(parts, joined.data.chunk(len(parts)), strict=True):
            model.get_parameter(part).data = own
    return encoder.eval().requires_grad_(False)

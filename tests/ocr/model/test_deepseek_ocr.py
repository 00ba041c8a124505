import dataclasses

import pytest
import torch

from encoders.deepseek.deep_encoder import EncoderConfig
from ocr.checkpoints.model_weights import IGNORED, slots
from ocr.errors import CheckpointError
from ocr.model.deepseek_ocr import LanguageConfig, OcrConfig, OcrModel
from tests.ocr.saving import config_json
from tests.ocr.tiny import TINY, tiny_model

# The published config.json, less what has no bearing on the model.
PUBLISHED = {
    "architectures": ["DeepseekOCRForCausalLM"],
    "model_type": "deepseek_vl_v2",
    "torch_dtype": "bfloat16",
    "tile_tag": "2D",
    "candidate_resolutions": [[1024, 1024]],
    "language_config": {
        "architectures": ["DeepseekOCRForCausalLM"],
        "bos_token_id": 0, "eos_token_id": 1, "first_k_dense_replace": 1, "hidden_size": 1280,
        "intermediate_size": 6848, "kv_lora_rank": None, "lm_head": True, "max_position_embeddings": 8192,
        "moe_intermediate_size": 896, "n_group": 1, "n_routed_experts": 64, "n_shared_experts": 2,
        "num_attention_heads": 10, "num_experts_per_tok": 6, "num_hidden_layers": 12,
        "num_key_value_heads": 10,
        "q_lora_rank": None, "qk_nope_head_dim": 0, "qk_rope_head_dim": 0, "rm_head": False, "topk_group": 1,
        "topk_method": "greedy", "torch_dtype": "bfloat16", "use_mla": False, "v_head_dim": 0,
        "vocab_size": 129280,
    },
    "projector_config": {
        "input_dim": 2048, "model_type": "mlp_projector", "n_embed": 1280, "projector_type": "linear",
    },
    "vision_config": {
        "image_size": 1024, "mlp_ratio": 3.7362, "model_name": "deeplip_b_l", "model_type": "vision",
        "width": {
            "clip-l-14-224": {"heads": 16, "image_size": 224, "layers": 24, "patch_size": 14, "width": 1024},
            "sam_vit_b": {
                "downsample_channels": [512, 1024], "global_attn_indexes": [2, 5, 8, 11], "heads": 12,
                "layers": 12, "width": 768,
            },
        },
    },
}  # fmt: skip


def test_published_config_is_the_default() -> None:
    assert OcrConfig.from_json(PUBLISHED) == OcrConfig()


def test_full_size_has_the_published_parameters_but_the_unused_one() -> None:
    with torch.device("meta"):
        model = OcrModel(OcrConfig())
    assert sum(parameter.numel() for parameter in model.parameters()) == 3_335_504_128
    assert len(slots(model)) + len(IGNORED) == 2710
    assert 3_335_504_128 + 1024 * 3 * 14 * 14 == 3_336_106_240


def test_config_survives_json() -> None:
    sam = dataclasses.replace(TINY.encoder.sam, pos_grid=32)
    encoder = dataclasses.replace(TINY.encoder, sam=sam)
    language = dataclasses.replace(TINY.language, rope_theta=5000.0)
    config = OcrConfig(encoder=encoder, language=language)
    assert OcrConfig.from_json(config_json(config)) == config != TINY


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"model_type": "llama"}, "model_type is 'llama'"),
        ({"language_config": {}}, "key 'vocab_size' is missing"),
        ({"language_config": {**PUBLISHED["language_config"], "use_mla": True}}, "use_mla"),
        (
            {"language_config": {**PUBLISHED["language_config"], "tie_word_embeddings": True}},
            "tie_word_embeddings",
        ),
        ({"vision_config": {"width": {"qwen2-0-5b": {}}}}, "key 'sam_vit_b' is missing"),
        ({"projector_config": {"input_dim": 896, "n_embed": 1280}}, "input_dim is 896"),
        ({"projector_config": {"input_dim": 2048, "n_embed": 64}}, "n_embed is 64"),
    ],
)
def test_another_models_config_is_refused_by_key(change: dict[str, object], named: str) -> None:
    with pytest.raises(CheckpointError, match=named):
        OcrConfig.from_json({**PUBLISHED, **change})


def test_clip_must_fit_sam() -> None:
    with pytest.raises(ValueError, match="CLIP width 1024"):
        EncoderConfig(sam=TINY.encoder.sam)


def test_grouped_query_attention_is_built() -> None:
    model = OcrModel(TINY)
    assert model.language_model.layers[0].self_attn.k_proj.weight.shape == (32, 64)
    assert LanguageConfig().to_transformers().layer_types == ["full_attention"] * 12


def test_redrawn_weights_leave_no_parameter_idle() -> None:
    for name, parameter in tiny_model().named_parameters():
        assert parameter.abs().max() > 0.02, name
    first, again, other = tiny_model(seed=1), tiny_model(seed=1), tiny_model(seed=2)
    assert torch.equal(first.lm_head.weight, again.lm_head.weight)
    assert not torch.equal(first.lm_head.weight, other.lm_head.weight)

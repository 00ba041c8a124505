"""Names, shapes and configurations as published, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from ocr.errors import CheckpointError
from ocr.families.minicpm.minicpm_model import MiniCpmConfig, MiniCpmModel, load_minicpm
from ocr.families.minicpm.slicing import SlicingRule
from ocr.families.minicpm.versions import version_of
from tests.ocr.families.minicpm.tiny_minicpm import VERSIONS, config_json, plain_model, save

CPU = torch.device("cpu")
VPM = [
    "embeddings.patch_embedding.weight",
    "embeddings.patch_embedding.bias",
    "embeddings.position_embedding.weight",
]
VPM += ["post_layernorm.weight", "post_layernorm.bias"]
VPM_LAYER = [
    f"{part}.{kind}"
    for part in (
        "layer_norm1", "layer_norm2", "mlp.fc1", "mlp.fc2", "self_attn.k_proj", "self_attn.out_proj",
        "self_attn.q_proj", "self_attn.v_proj",
    )
    for kind in ("weight", "bias")
]  # fmt: skip
RESAMPLER = [
    "attn.in_proj_bias", "attn.in_proj_weight", "attn.out_proj.bias", "attn.out_proj.weight", "kv_proj.weight",
    "ln_kv.bias", "ln_kv.weight", "ln_post.bias", "ln_post.weight", "ln_q.bias", "ln_q.weight", "proj", "query",
]  # fmt: skip
LLM_LAYER = [
    "input_layernorm.weight", "mlp.down_proj.weight", "mlp.gate_proj.weight", "mlp.up_proj.weight",
    "post_attention_layernorm.weight", "self_attn.k_proj.weight", "self_attn.o_proj.weight",
    "self_attn.q_proj.weight", "self_attn.v_proj.weight",
]  # fmt: skip
# What the layers of a version's language model have besides.
LLM_OWN = {
    "2.5": [],
    "2.6": ["self_attn.k_proj.bias", "self_attn.q_proj.bias", "self_attn.v_proj.bias"],
    "4.0": [],
    "4.5": ["self_attn.q_norm.weight", "self_attn.k_norm.weight"],
}
# config.json of openbmb/MiniCPM-Llama3-V-2_5 and openbmb/MiniCPM-V-2_6, without paths.
PUBLISHED: dict[str, dict[str, Any]] = {
    "2.5": {
        "version": "2.5", "attention_bias": False, "attention_dropout": 0.0, "batch_vision_input": True,
        "bos_token_id": 128000, "drop_vision_last_layer": False, "eos_token_id": 128001, "hidden_act": "silu",
        "hidden_size": 4096, "image_size": 448, "initializer_range": 0.02, "intermediate_size": 14336,
        "max_position_embeddings": 8192, "mm_use_im_start_end": True, "model_type": "minicpmv",
        "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "patch_size": 14,
        "pretraining_tp": 1, "query_num": 96, "rms_norm_eps": 1e-05, "rope_scaling": None, "rope_theta": 500000.0,
        "slice_config": {"max_slice_nums": 9, "patch_size": 14, "model_type": "minicpmv"}, "slice_mode": True,
        "tie_word_embeddings": False, "torch_dtype": "float16", "transformers_version": "4.40.0", "use_cache": False,
        "vision_config": {
            "hidden_size": 1152, "image_size": 980, "intermediate_size": 4304, "model_type": "idefics2",
            "num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 14,
        },
        "vocab_size": 128256,
    },
    "2.6": {
        "architectures": ["MiniCPMV"], "attention_dropout": 0.0, "batch_vision_input": True, "bos_token_id": 151643,
        "drop_vision_last_layer": False, "eos_token_id": 151645, "hidden_act": "silu", "hidden_size": 3584,
        "image_size": 448, "initializer_range": 0.02, "intermediate_size": 18944, "max_position_embeddings": 32768,
        "max_window_layers": 28, "model_type": "minicpmv", "num_attention_heads": 28, "num_hidden_layers": 28,
        "num_key_value_heads": 4, "patch_size": 14, "query_num": 64, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0,
        "slice_config": {"max_slice_nums": 9, "model_type": "minicpmv"}, "slice_mode": True, "sliding_window": None,
        "tie_word_embeddings": False, "torch_dtype": "bfloat16", "transformers_version": "4.40.0", "use_cache": True,
        "use_image_id": True, "use_sliding_window": False, "version": 2.6, "vision_batch_size": 16,
        "vision_config": {
            "hidden_size": 1152, "image_size": 980, "intermediate_size": 4304, "model_type": "siglip",
            "num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 14,
        },
        "vocab_size": 151700,
    },
}  # fmt: skip


def expected_names(version: str, vision_layers: int, layers: int) -> set[str]:
    """Returns the names of model.safetensors.index.json of 2.5, and of the other versions by their model files."""
    own = [*LLM_LAYER, *LLM_OWN[version]]
    return {
        "llm.lm_head.weight", "llm.model.embed_tokens.weight", "llm.model.norm.weight",
        *(f"vpm.{name}" for name in VPM), *(f"resampler.{name}" for name in RESAMPLER),
        *(f"vpm.encoder.layers.{layer}.{name}" for layer in range(vision_layers) for name in VPM_LAYER),
        *(f"llm.model.layers.{layer}.{name}" for layer in range(layers) for name in own),
    }  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
def test_names_are_the_published_ones(version: str) -> None:
    model = MiniCpmModel.from_config(config_json(version))
    assert set(model.state_dict()) == expected_names(version, vision_layers=2, layers=2)
    assert set(plain_model(version, config_json(version)).state_dict()) == set(model.state_dict())


@pytest.mark.parametrize("version", list(PUBLISHED))
def test_published_configurations_load_unchanged(version: str) -> None:
    config = PUBLISHED[version]
    with torch.device("meta"):
        model = MiniCpmModel.from_config(config)
    assert set(model.state_dict()) == expected_names(version, 27, config["num_hidden_layers"])
    width, queries = config["hidden_size"], config["query_num"]
    shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    assert shapes["resampler.query"] == (queries, width)
    assert shapes["resampler.kv_proj.weight"] == (width, 1152)
    assert shapes["vpm.embeddings.patch_embedding.weight"] == (1152, 3, 14, 14)
    assert shapes["vpm.embeddings.position_embedding.weight"] == (4900, 1152)
    assert shapes["llm.lm_head.weight"] == (config["vocab_size"], width)
    assert model.config.language.rope_parameters["rope_theta"] == config["rope_theta"]
    assert model.config.version == version
    assert SlicingRule.from_json(config) == SlicingRule()
    assert [str(tier) for tier in model.vision_encoder().usual_axes["slices"]] == ["1024", "1056"]


def test_versions_are_told_apart() -> None:
    for version in VERSIONS:
        assert version_of(config_json(version)) == version
    older = {key: value for key, value in PUBLISHED["2.5"].items() if key != "version"}
    assert version_of(older) == "2.5", "its first config.json did not say so"
    assert version_of({"version": 4}) == "4.0"
    for other in (
        {"vision_encoder": "vit_so400m_patch14_siglip_384.webli"},
        {"version": 4.6},
        {"version": "2.50"},
    ):
        with pytest.raises(CheckpointError, match=r"can load 2\.5, 2\.6, 4\.0, 4\.5"):
            version_of(other)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"quantization_config": {"bits": 4}}, "compressed"),
        ({"hidden_size": 200}, "multiples of 128"),
        ({"query_num": -1}, "query_num"),
        ({"vision_config": {"hidden_act": "relu"}}, "gelu_pytorch_tanh"),
        ({"num_hidden_layers": "many"}, "language model"),
    ],
)
def test_configurations_without_sense_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        MiniCpmConfig.from_json(config_json("2.6") | change)


def test_a_file_that_does_not_fit_names_every_fault(tmp_path: Path) -> None:
    config = config_json("2.6")
    model = plain_model("2.6", config)
    model.resampler.pos_embed = torch.nn.Parameter(torch.zeros(3))
    model.resampler.query = torch.nn.Parameter(torch.zeros(5, 256))
    del model.vpm.post_layernorm.bias
    save(model, config, tmp_path)
    with pytest.raises(CheckpointError) as raised:
        load_minicpm(tmp_path, device=CPU, dtype=torch.float32, encoder_dtype=torch.float32)
    message = str(raised.value)
    assert "missing tensors: vpm.post_layernorm.bias" in message
    assert "unknown tensors: resampler.pos_embed" in message
    assert "resampler.query [5, 256] instead of [4, 256]" in message
    (tmp_path / "model-00001-of-00002.safetensors").write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match="cannot be read as safetensors"):
        load_minicpm(tmp_path, device=CPU, dtype=torch.float32, encoder_dtype=torch.float32)


def test_number_formats_and_tied_heads(tmp_path: Path) -> None:
    config = config_json("4.0") | {"tie_word_embeddings": True, "scale_emb": 12}
    plain = plain_model("4.0", config)
    del plain.llm.lm_head
    save(plain, config, tmp_path)
    model = load_minicpm(tmp_path, device=CPU, dtype=torch.bfloat16, encoder_dtype=torch.float32)
    assert model.llm.lm_head.weight is model.llm.model.embed_tokens.weight
    kinds = {name.split(".")[0]: tensor.dtype for name, tensor in model.named_parameters()}
    assert kinds == {"llm": torch.bfloat16, "vpm": torch.float32, "resampler": torch.float32}
    assert model.llm.model.rotary_emb.inv_freq.dtype == torch.float32
    assert not any(tensor.is_meta for tensor in (*model.parameters(), *model.buffers()))
    assert not any(parameter.requires_grad for parameter in model.parameters())
    assert model.config.embedding_scale == 12
    assert json.loads((tmp_path / "config.json").read_text())["tie_word_embeddings"]

"""A checkpoint of every version, small enough for tests, with the published names of config.json and tensors."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from torch import nn
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from ocr.families.minicpm.minicpm_model import MiniCpmConfig
from ocr.model.random_weights import redraw
from tests.encoders.minicpm.plain import PlainResampler, PlainVit

VERSIONS = ["2.5", "2.6", "4.0", "4.5"]
SPECIAL = [
    "<unk>", "<image>", "</image>", "<slice>", "</slice>", "<image_id>", "</image_id>", "<think>", "</think>",
    "<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>",
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<s>", "</s>",
]  # fmt: skip
_LAYERS = {"hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
_TEXT = _LAYERS | {"intermediate_size": 96, "max_position_embeddings": 2048, "hidden_act": "silu"}
# Of each version, what its language model is beside the common sizes.
_OWN: dict[str, dict[str, Any]] = {
    "2.5": {"rms_norm_eps": 1e-5, "rope_theta": 500000.0, "rope_scaling": None, "attention_bias": False},
    "2.6": {"rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "use_sliding_window": False, "sliding_window": None},
    "4.0": {
        "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "head_dim": 64,
        "rope_scaling": {
            "rope_type": "longrope", "original_max_position_embeddings": 2048,
            "long_factor": [1.0 + i / 8 for i in range(32)], "short_factor": [1.0 + i / 16 for i in range(32)],
        },
    },
    "4.5": {"rms_norm_eps": 1e-6, "rope_theta": 1000000, "head_dim": 128, "attention_bias": False},
}  # fmt: skip


def tokenizer() -> Tokenizer:
    """Returns a tokenizer of bytes, with the marks of all versions."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.ByteLevel(trim_offsets=False)
    made.add_special_tokens(SPECIAL)
    return made


def config_json(version: str) -> dict[str, Any]:
    """Returns a config.json as published: the language model's fields beside the others."""
    config: dict[str, Any] = {
        "_name_or_path": "openbmb/MiniCPM-V",
        "architectures": ["MiniCPMV"],
        "auto_map": {"AutoModel": "modeling_minicpmv.MiniCPMV"},
        "model_type": "minicpmv",
        "torch_dtype": "bfloat16",
        "transformers_version": "4.40.0",
        "version": version if version == "2.5" else float(version),
        "vocab_size": tokenizer().get_vocab_size(),
        "query_num": 6 if version == "2.5" else 4,
        "drop_vision_last_layer": version == "4.0",
        "batch_vision_input": True,
        "image_size": 448,
        "patch_size": 4,
        "slice_config": {"max_slice_nums": 6, "scale_resolution": 20, "patch_size": 4, "model_type": "minicpmv"},
        "vision_config": {
            "hidden_size": 24, "image_size": 28, "intermediate_size": 40, "num_attention_heads": 3,
            "num_hidden_layers": 3 if version == "4.0" else 2, "patch_size": 4,
            "model_type": "idefics2" if version == "2.5" else "siglip",
        },
        "tie_word_embeddings": False,
        **_TEXT,
        **_OWN[version],
    }  # fmt: skip
    return config if version == "2.5" else config | {"use_image_id": True, "slice_mode": True}


class PlainModel(nn.Module):
    """The whole model from plain vision parts and a language model whose configuration is written out."""

    def __init__(self, version: str, config: dict[str, Any]) -> None:
        super().__init__()
        vision = MiniCpmConfig.from_json(config).vision
        self.vpm, self.resampler = PlainVit(vision), PlainResampler(vision)
        own = dict(_OWN[version])
        rope = dict(own.pop("rope_scaling", None) or {"rope_type": "default"})
        rope["rope_theta"] = float(own.pop("rope_theta"))
        kinds: dict[str, Any] = {
            "2.5": (LlamaConfig, LlamaForCausalLM), "2.6": (Qwen2Config, Qwen2ForCausalLM),
            "4.0": (LlamaConfig, LlamaForCausalLM), "4.5": (Qwen3Config, Qwen3ForCausalLM),
        }  # fmt: skip
        config_class, model_class = kinds[version]
        sizes = _TEXT | own | {"vocab_size": config["vocab_size"], "rope_parameters": rope}
        self.llm = model_class(config_class(**sizes, attn_implementation="eager"))


def plain_model(version: str, config: dict[str, Any], seed: int = 0) -> PlainModel:
    model = PlainModel(version, config).eval()
    redraw(model, seed)
    return model.requires_grad_(False)


def save(model: nn.Module, config: dict[str, Any], directory: Path) -> None:
    """Writes config.json, and the weights in two files with their index, as published."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config))
    tensors = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    names = sorted(tensors)
    index = {}
    for part, chosen in enumerate((names[::2], names[1::2]), 1):
        file = f"model-0000{part}-of-00002.safetensors"
        save_file({name: tensors[name] for name in chosen}, directory / file, metadata={"format": "pt"})
        index.update(dict.fromkeys(chosen, file))
    (directory / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))


@torch.no_grad()
def greedy(llm: Any, embeds_LD: torch.Tensor, num: int) -> list[int]:
    """Returns the tokens of highest probability, one after the other, reading everything again for each."""
    tokens = []
    for _ in range(num):
        tokens.append(int(llm(inputs_embeds=embeds_LD[None]).logits[0, -1].argmax()))
        embeds_LD = torch.cat([embeds_LD, llm.get_input_embeddings()(torch.tensor(tokens[-1:]))])
    return tokens

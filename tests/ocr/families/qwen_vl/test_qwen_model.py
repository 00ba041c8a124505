import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from encoders.graphs.path import Tensors
from ocr.errors import CheckpointError
from ocr.families.qwen_vl.qwen_reader import CHATS, QwenReader
from tests.encoders.native.tiny_qwen import MEAN, STD
from tests.ocr.families.opening import opened
from tests.ocr.families.qwen_vl.tiny_models import PAD, TURN_END, tiny_model, tiny_tokenizer

PREPROCESSING = {
    "patch_size": 4, "merge_size": 2, "temporal_patch_size": 2, "image_mean": MEAN, "image_std": STD,
    "size": {"shortest_edge": 256, "longest_edge": 4096},
}  # fmt: skip


def as_published(name: str) -> str:
    """The key of Qwen/Qwen2.5-VL and Nanonets-OCR2: "visual." and "model." stand for what is now below "model."."""
    return (
        name.removeprefix("model.").replace("language_model.", "model.")
        if name.startswith("model.")
        else name
    )


def write(directory: Path, model: str, tensors: Tensors) -> None:
    """The files of a repository, in float32."""
    config = json.loads(tiny_model(model).config.to_json_string())
    (directory / "config.json").write_text(json.dumps(config | {"dtype": "float32"}))
    (directory / "generation_config.json").write_text(
        json.dumps({"eos_token_id": [TURN_END, PAD], "pad_token_id": PAD, "do_sample": True})
    )
    (directory / "preprocessor_config.json").write_text(json.dumps(PREPROCESSING))
    tiny_tokenizer().save(str(directory / "tokenizer.json"))
    save_file({name: value.clone() for name, value in tensors.items()}, directory / "model.safetensors")


def loaded_from(folder: Path, dtype: Any = "float32") -> QwenReader:
    reader: QwenReader = opened(folder, dtype=dtype)
    return reader


def same_weights(loaded: Any, expected: Any) -> bool:
    theirs = dict(expected.named_parameters())
    ours = dict(loaded.named_parameters())
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize(("model", "older_names"), [("qwen3", False), ("qwen2_5", False), ("qwen2_5", True)])
def test_published_names_are_read(tmp_path: Path, model: str, older_names: bool) -> None:
    tensors = tiny_model(model).state_dict()
    if older_names:
        tensors = {as_published(name): value for name, value in tensors.items()}
        assert {name.split(".")[0] for name in tensors} == {"visual", "model", "lm_head"}
        assert "model.layers.0.self_attn.q_proj.weight" in tensors
    write(tmp_path, model, tensors)
    loaded = loaded_from(tmp_path, "float32")
    assert same_weights(loaded.model, tiny_model(model))
    assert not any(weight.requires_grad for weight in loaded.model.parameters())
    assert loaded.chat is (CHATS["qwen3_vl"] if model == "qwen3" else CHATS["qwen2_5_vl"])
    assert (loaded.pad_id, loaded.eos_ids) == (PAD, {TURN_END, PAD})
    assert loaded.resizing.image.most == 4096
    encoder = loaded.vision_encoder("gundam")
    assert encoder.num_bytes < sum(weight.nbytes for weight in loaded.model.parameters())
    watched = encoder.paths[0].watched("any")
    assert loaded.model.model.visual.blocks[0].attn.qkv.weight.data_ptr() in {
        each.data_ptr() for each in watched
    }


def test_weights_of_16_bits(tmp_path: Path) -> None:
    write(tmp_path, "qwen3", tiny_model("qwen3").state_dict())
    loaded = loaded_from(tmp_path, "bfloat16")
    assert {weight.dtype for weight in loaded.model.parameters()} == {torch.bfloat16}
    rotary = loaded.model.model.visual.rotary_pos_emb
    assert torch.equal(rotary.inv_freq, tiny_model("qwen3").model.visual.rotary_pos_emb.inv_freq), (
        "positions stay exact"
    )


def test_a_missing_tensor_is_an_error(tmp_path: Path) -> None:
    """transformers would draw it at random."""
    tensors = tiny_model("qwen2_5").state_dict()
    del tensors["model.visual.blocks.1.mlp.up_proj.weight"]
    write(tmp_path, "qwen2_5", tensors)
    with pytest.raises(
        CheckpointError, match=r"1 tensors of qwen2_5_vl are missing .* such as model\.visual\.blocks\.1\.mlp"
    ):
        loaded_from(tmp_path, "float32")


def test_a_tensor_of_another_shape_is_an_error(tmp_path: Path) -> None:
    tensors = tiny_model("qwen2_5").state_dict()
    tensors["lm_head.weight"] = tensors["lm_head.weight"][:50]
    write(tmp_path, "qwen2_5", tensors)
    with pytest.raises(CheckpointError, match="another shape, such as lm_head"):
        loaded_from(tmp_path, "float32")


def test_files_that_are_missing_are_an_error(tmp_path: Path) -> None:
    write(tmp_path, "qwen3", tiny_model("qwen3").state_dict())
    (tmp_path / "model.safetensors").rename(tmp_path / "model.bin")
    with pytest.raises(CheckpointError, match="fetch all of the model's files again"):
        loaded_from(tmp_path)

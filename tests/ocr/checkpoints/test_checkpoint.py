import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from ocr.checkpoints.checkpoint import load
from ocr.errors import CheckpointError
from ocr.model.deepseek_ocr import DEFAULT_PROMPT, OcrModel
from ocr.model_files.locate import digest, find_directory
from ocr.types import OutputFormat
from tests.ocr.tiny import tiny_tokenizer


@pytest.fixture
def broken(checkpoint: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(checkpoint, tmp_path / "model"))


def logits(model: OcrModel) -> torch.Tensor:
    return model(model.language_model.embed_tokens(torch.arange(40)[None]))


def rewrite(directory: Path, **changes: torch.Tensor | None) -> None:
    tensors = load_file(directory / "model.safetensors")
    for key, tensor in changes.items():
        tensors.pop(key, None) if tensor is None else tensors.__setitem__(key, tensor)
    save_file(tensors, directory / "model.safetensors")


def test_names_on_disk_are_the_published_ones(checkpoint: Path) -> None:
    keys = set(load_file(checkpoint / "model.safetensors"))
    assert {
        "lm_head.weight",
        "model.embed_tokens.weight",
        "model.norm.weight",
        "model.image_newline",
        "model.view_seperator",
        "model.projector.layers.weight",
        "model.sam_model.patch_embed.proj.bias",
        "model.sam_model.pos_embed",
        "model.sam_model.blocks.1.attn.rel_pos_h",
        "model.sam_model.blocks.2.mlp.lin2.weight",
        "model.sam_model.neck.3.bias",
        "model.sam_model.net_3.weight",
        "model.vision_model.embeddings.class_embedding",
        "model.vision_model.embeddings.position_embedding.weight",
        "model.vision_model.pre_layrnorm.weight",
        "model.vision_model.transformer.layers.1.self_attn.qkv_proj.weight",
        "model.layers.0.mlp.gate_proj.weight",
        "model.layers.1.mlp.gate.weight",
        "model.layers.2.mlp.experts.4.up_proj.weight",
        "model.layers.2.mlp.shared_experts.down_proj.weight",
    } <= keys
    assert not any("language_model" in key or "gate_up_proj" in key for key in keys)


def test_loads_what_was_saved(checkpoint: Path, model: OcrModel) -> None:
    loaded = load(str(checkpoint), device="cpu", dtype=torch.float32)
    assert torch.equal(logits(loaded.model), logits(model))
    for name, parameter in loaded.model.named_parameters():
        assert torch.equal(parameter, model.get_parameter(name)), name
        assert not parameter.requires_grad
    assert not loaded.model.training
    assert loaded.output_format == OutputFormat(name="ref_det", keeps_special_tokens=True)
    assert (loaded.bos_id, loaded.eos_id) == (0, 1)
    assert (loaded.name, loaded.prompt) == (str(checkpoint), DEFAULT_PROMPT)


def test_dtype_is_the_one_asked_for(checkpoint: Path) -> None:
    model = load(str(checkpoint), device="cpu", dtype=torch.bfloat16).model
    assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}
    assert logits(model).isfinite().all()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_on_a_gpu_the_weights_are_those_of_a_cpu(checkpoint: Path, dtype: torch.dtype) -> None:
    there = load(str(checkpoint), device="cuda", dtype=dtype).model
    here = load(str(checkpoint), device="cpu", dtype=dtype).model
    for name, parameter in there.named_parameters():
        assert torch.equal(parameter.cpu(), here.get_parameter(name)), name


def test_shards_load_like_one_file(broken: Path, model: OcrModel) -> None:
    tensors = load_file(broken / "model.safetensors")
    (broken / "model.safetensors").unlink()
    half = len(tensors) // 2
    weight_map = {}
    for number, keys in enumerate((list(tensors)[:half], list(tensors)[half:]), start=1):
        name = f"model-0000{number}-of-00002.safetensors"
        save_file({key: tensors[key] for key in keys}, broken / name)
        weight_map |= dict.fromkeys(keys, name)
    (broken / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    assert torch.equal(logits(load(str(broken), device="cpu", dtype=torch.float32).model), logits(model))
    (broken / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"lacks model-00002-of-00002\.safetensors"):
        load(str(broken), device="cpu", dtype=torch.float32)


def test_unused_patch_embedding_is_no_fault(broken: Path, model: OcrModel) -> None:
    key = "model.vision_model.embeddings.patch_embedding.weight"
    rewrite(broken, **{key: torch.zeros(48, 3, 14, 14)})
    assert torch.equal(logits(load(str(broken), device="cpu", dtype=torch.float32).model), logits(model))


def test_every_misfit_is_named_in_one_error(broken: Path) -> None:
    rewrite(
        broken,
        **{
            "model.norm.weight": None,
            "model.layers.1.mlp.experts.3.up_proj.weight": None,
            "model.surprise": torch.zeros(2),
            "model.image_newline": torch.zeros(63),
        },
    )
    with pytest.raises(CheckpointError) as caught:
        load(str(broken), device="cpu", dtype=torch.float32)
    message = str(caught.value)
    assert str(broken / "model.safetensors") in message
    assert re.search(r"missing tensors: [^;]*model\.norm\.weight", message)
    assert re.search(r"missing tensors: [^;]*model\.layers\.1\.mlp\.experts\.3\.up_proj\.weight", message)
    assert "unknown tensors: model.surprise;" in message
    assert "tensors of another shape: model.image_newline [63] instead of [64]." in message


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
@pytest.mark.parametrize("damage", ["missing", "garbage"])
def test_a_missing_or_broken_file_is_named(broken: Path, name: str, damage: str) -> None:
    if damage == "missing":
        (broken / name).unlink()
    else:
        (broken / name).write_bytes(b"\x00garbage")
    with pytest.raises(CheckpointError, match=re.escape(name)):
        load(str(broken), device="cpu", dtype=torch.float32)


def test_a_tokenizer_of_another_model_is_refused(broken: Path) -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.add_tokens([f"more{i}" for i in range(60)])
    tokenizer.save(str(broken / "tokenizer.json"))
    with pytest.raises(CheckpointError, match="123 tokens"):
        load(str(broken), device="cpu", dtype=torch.float32)


def test_special_ids_come_from_the_tokenizer_where_the_config_is_silent(broken: Path) -> None:
    config = json.loads((broken / "config.json").read_text())
    del config["language_config"]["bos_token_id"], config["language_config"]["eos_token_id"]
    (broken / "config.json").write_text(json.dumps(config))
    loaded = load(str(broken), device="cpu", dtype=torch.float32)
    assert (loaded.bos_id, loaded.eos_id) == (0, 1)


def test_hash_follows_content_and_not_place(broken: Path, checkpoint: Path) -> None:
    before = digest(checkpoint)
    assert digest(broken) == before
    rewrite(broken, **{"model.image_newline": torch.zeros(64)})
    assert digest(broken) != before


@pytest.mark.parametrize("name", ["no such place", "/nowhere/at/all", "./nowhere", "a/b/c"])
def test_an_unknown_name_says_what_would_do(name: str) -> None:
    with pytest.raises(CheckpointError, match=r"not a directory; use 'small'"):
        find_directory(name)


def test_a_file_is_no_model(checkpoint: Path) -> None:
    with pytest.raises(CheckpointError, match="is a file; name the directory"):
        find_directory(str(checkpoint / "config.json"))


def test_offline_hub_id_that_is_not_cached_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(CheckpointError, match="unset HF_HUB_OFFLINE"):
        find_directory("nobody/nothing")

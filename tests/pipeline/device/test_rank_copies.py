"""What a rank has of an encoder: its paths with copies of all weights on another device, for every family."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from encoders.graphs.capturing.buffers import META
from encoders.graphs.settings import GraphSettings
from encoders.vision_encoder import PageEncoder
from ocr.families.family import Loading
from ocr.families.registry import family_of
from tests.pipeline.run.test_run_families import minicpm, published
from tests.pipeline.run.test_run_graphs import deepseek

SAVED: dict[str, Callable[[Path], Path]] = {
    "deepseek_ocr": deepseek,
    **{
        kind: published(kind)
        for kind in (
            "deepseek_ocr2", "qwen3_vl", "qwen2_5_vl", "paddleocr_vl", "glm_ocr", "hunyuan_vl", "lighton_ocr"
        )
    },
    "minicpm 2.6": minicpm("2.6"),
    "minicpm 4.5": minicpm("4.5"),
}  # fmt: skip


def encoder_of(name: str, folder: Path, device: str = "cpu") -> PageEncoder:
    directory = SAVED[name](folder / "model")
    asked = Loading(
        directory=directory, name=str(directory), device=device, dtype="float32", encoder_dtype="float32",
        prompt=None,
    )  # fmt: skip
    encoder: PageEncoder = family_of(directory).load(asked).vision_encoder("gundam")
    return encoder


@pytest.mark.parametrize("name", SAVED)
@torch.inference_mode()
def test_every_path_computes_on_the_other_device_alone(name: str, tmp_path: Path) -> None:
    """The meta device computes shapes, and refuses tensors of another device among its own."""
    encoder = encoder_of(name, tmp_path)
    copied, device = encoder.rank_on(META)
    assert device == META
    assert [path.name for path in copied] == [path.name for path in encoder.paths]
    assert {weight.device.type for weight in encoder.weights} == {"cpu"}
    for path, own in zip(copied, encoder.paths, strict=True):
        path.limit(GraphSettings())
        for axis in encoder.usual_axes.get(path.name, ()):
            weights = path.watched(axis)
            assert {weight.device.type for weight in weights} == {"meta"}
            assert len(weights) == len(own.watched(axis))
            outputs = path.forward(path.buffers(axis, path.unit_tokens(axis), META))
            assert {output.device.type for output in outputs.values()} == {"meta"}
    assert not [where for where, tensor in _tensors(copied, "paths", set()) if tensor.device.type != "meta"]


@pytest.mark.parametrize("name", SAVED)
@torch.inference_mode()
def test_a_copy_computes_what_the_encoder_does(name: str, tmp_path: Path) -> None:
    encoder = encoder_of(name, tmp_path)
    copied, _ = encoder.rank_on(torch.device("cpu"))
    for path, own in zip(copied, encoder.paths, strict=True):
        for axis in encoder.usual_axes.get(path.name, ())[:1]:
            inputs = path.collate(path.examples(axis, path.unit_tokens(axis)), torch.device("cpu"))
            for output, expected in own.forward(inputs).items():
                torch.testing.assert_close(path.forward(inputs)[output], expected, rtol=0, atol=0)


def _tensors(value: Any, where: str, seen: set[int]) -> Iterator[tuple[str, torch.Tensor]]:
    """Yields every tensor that an object's attributes and containers lead to, with its place."""
    if id(value) in seen or isinstance(value, type):
        return
    seen.add(id(value))
    if isinstance(value, torch.Tensor):
        yield where, value
    elif isinstance(value, dict):
        for key, its in value.items():
            yield from _tensors(its, f"{where}[{key}]", seen)
    elif isinstance(value, (list, tuple, set)):
        for number, its in enumerate(value):
            yield from _tensors(its, f"{where}[{number}]", seen)
    elif type(value).__module__.split(".")[0] in ("encoders", "ocr", "torch", "transformers"):
        for key, its in getattr(value, "__dict__", {}).items():
            yield from _tensors(its, f"{where}.{key}", seen)

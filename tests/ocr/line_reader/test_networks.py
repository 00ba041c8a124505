"""The networks as they run, held against the same in torch, and that nothing else of torch is needed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from ocr.errors import CheckpointError
from ocr.int8 import fill
from ocr.line_networks.finder_net import FinderNet
from ocr.line_networks.reader_net import ReaderNet
from ocr.line_reader.line_images import HEIGHT_PX
from ocr.line_reader.networks import _MOST, STEP_PX, OnnxNetworks, ReaderSizes, _in_bytes
from ocr.model_files.locate import LINES, find_directory
from ocr.training.lines.package_lines import package

SHIPPED = find_directory("small") / LINES
# Of other sizes than the shipped one: lower lines, wider steps.
LOW = {"height": 32, "width": 64, "layers": 2, "heads": 2, "stem": [8, 16, 32], "blocks": [1, 1, 1]}


def stored(folder: Path, sizes: dict[str, Any]) -> Path:
    """A folder with networks of random weights, as training leaves it."""
    torch.manual_seed(1)
    for name, net in (("finder", FinderNet()), ("reader", ReaderNet(ReaderSizes(num_classes=8, **sizes)))):
        for module in net.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                torch.nn.init.uniform_(module.running_mean, -1, 1)
                torch.nn.init.uniform_(module.running_var, 0.5, 2)
        save_file(net.state_dict(), folder / f"{name}.safetensors")
    (folder / "reader.json").write_text(json.dumps({**sizes, "characters": "abcdef"}), encoding="utf-8")
    return folder


def in_torch(folder: Path, image: np.ndarray[Any, Any], page: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    """The reader's logits and the finder's cells, computed by torch."""
    config = json.loads((folder / "reader.json").read_text())
    reader, finder = (
        ReaderNet(ReaderSizes(num_classes=len(config.pop("characters")) + 2, **config)).eval(),
        FinderNet().eval(),
    )
    fill(reader, folder / "reader.safetensors")
    fill(finder, folder / "finder.safetensors")
    with torch.inference_mode():
        logits, _ = reader(torch.from_numpy(image)[None, None], torch.tensor([image.shape[1]]))
        return logits[0].numpy(), finder(torch.from_numpy(page)[None, None])[0].numpy()


@pytest.mark.parametrize("kind", ["shipped", "of random weights", "packaged"])
def test_results_are_those_of_torch(kind: str, tmp_path: Path) -> None:
    """But for activations in 8 bits: most characters stay by far."""
    folder = SHIPPED if kind == "shipped" else stored(tmp_path, LOW)
    if kind == "packaged":
        package(folder, tmp_path / "packaged")
        folder = tmp_path / "packaged"
    random = np.random.default_rng(3)
    page = np.uint8(255) * (random.random((96, 160)) > 0.8)
    image = np.clip(random.random((HEIGHT_PX, 40 * STEP_PX), np.float32) * 1.6 - 0.3, -0.3, 1.3)
    networks = OnnxNetworks(folder)
    logits, cells = in_torch(folder, image, page / np.float32(255))
    np.testing.assert_allclose(networks.cells([page])[0], cells, atol=1e-3)
    found = np.log(networks._shown(image))
    assert found.shape == logits.shape
    apart = found - logits + np.log(np.exp(logits).sum(-1, keepdims=True))
    assert np.abs(apart).max() < 0.05 * np.abs(logits).max()
    assert np.mean(found.argmax(-1) == logits.argmax(-1)) > 0.97


def test_pages_and_lines_of_any_size(tmp_path: Path) -> None:
    networks = OnnxNetworks(stored(tmp_path, LOW))
    assert networks.cells([np.zeros((33, 70), np.uint8)])[0].shape == (3, 16, 24)
    assert [networks._shown(np.zeros((HEIGHT_PX, wide), np.float32)).shape for wide in (1, 11, 50)] == [
        (2, 8),
        (4, 8),
        (10, 8),
    ]


def test_no_two_products_of_bytes_overflow_where_a_cpu_adds_them_in_16_bits() -> None:
    assert 2 * 255 * _MOST < 1 << 15
    wide = np.linspace(-1, 1, 512, dtype=np.float32).reshape(2, 256)
    values, scale = _in_bytes("m", {"m": np.rint(127 * wide).astype(np.int8), "m.scale": np.float16([1, 1])})
    assert np.abs(values).max() == _MOST
    np.testing.assert_allclose(values * scale[:, None], 127 * wide, atol=2)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    stored(tmp_path, LOW)
    (tmp_path / "reader.safetensors").write_bytes((SHIPPED / "finder.safetensors").read_bytes())
    with pytest.raises(CheckpointError, match=r"reader\.safetensors does not hold the line reader's weights"):
        OnnxNetworks(tmp_path)


def test_reading_imports_no_torch() -> None:
    script = "import sys, pipeline.stages.read_lines; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_loading_the_networks_leaves_no_trace(tmp_path: Path) -> None:
    """ONNX Runtime from 1.31 on keeps a database in the home folder, for reports, where it is not told otherwise."""
    script = (
        f"import pathlib, ocr.line_reader.networks as its; its.OnnxNetworks(pathlib.Path({str(SHIPPED)!r}))"
    )
    own = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, **own})
    assert not list(tmp_path.iterdir())

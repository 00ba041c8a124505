"""Packages a trained line reader in the form that ships:

python -m ocr.training.lines.package_lines WEIGHTS OUT --data DIR

Eight bits, the reader's with steps three times as wide as need be: 4.4% of 18 pages' characters are wrong, as before.
With the ranges that its convolutions need to run in 8 bits; what is packaged already only gets these anew.
"""

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import Tensor

from ocr.int8 import is_quantised, stored
from ocr.line_reader.found_lines import Floats
from ocr.line_reader.networks import read_sizes
from ocr.training.lines.ranges import drawn_lines, ranges

_WIDE = {"finder.safetensors": 1, "reader.safetensors": 3}  # of steps, as ocr.int8.quantise has it
_LEAST = 2048  # smaller tensors are kept at 16 bits


def package(weights: Path, out: Path, lines: Sequence[Floats]) -> None:
    """Writes finder.safetensors and reader.safetensors at 8 bits, and reader.json.

    lines: images [HEIGHT_PX, W] of lines such as will be read, on which the ranges are measured.
    """
    out.mkdir(parents=True, exist_ok=True)
    for name in ("finder.safetensors", "reader.safetensors"):
        tensors: dict[str, Tensor] = {}
        for key, tensor in load_file(weights / name).items():
            if tensor.is_floating_point() and tensor.numel() >= _LEAST and is_quantised(key, tensor):
                tensors.update(stored(key, tensor, _WIDE[name]))
            else:
                tensors[key] = tensor.half() if tensor.is_floating_point() else tensor
        if name == "reader.safetensors":
            tensors.update(ranges(weights, lines))
        save_file(tensors, out / name)
        (out / name).chmod(0o644)  # safetensors writes files that only their owner may read
    shutil.copyfile(weights / "reader.json", out / "reader.json")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m ocr.training.lines.package_lines", description=__doc__)
    parser.add_argument("weights", type=Path, help="folder that train_finder and train_reader wrote")
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--data", type=Path, required=True, help="what ocr.training.corpus made: pages to draw"
    )
    args = parser.parse_args()
    package(args.weights, args.out, drawn_lines(args.data, read_sizes(args.weights)[0]))

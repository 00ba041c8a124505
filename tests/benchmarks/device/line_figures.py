"""How fast the line reader's networks are on a GPU, eagerly and as graphs, and whether texts stay what they are.

    python -m tests.benchmarks.device.line_figures [DIR ...] [--pages 40] [--profile] [--output-json FILE]

Rates are of whole calls, with images copied to the device and results back: pages of A4 through `find`, lines of a
width through `line`, so many at once. Texts are those of the documents in DIR (tests/samples by default), each page by
itself: characters that differ from float32's, also of ONNX Runtime's in 8 bits, which the CPU reads with. --profile
lists the kernels that take longest.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pymupdf
import torch
from rapidfuzz.distance import Levenshtein

from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.settings import GraphSettings
from ocr.line_networks.graph_networks import GraphNetworks, LinePaths
from ocr.line_reader.found_lines import ReadLine, Shades
from ocr.line_reader.line_images import HEIGHT_PX
from ocr.line_reader.networks import Networks, OnnxNetworks
from ocr.line_reader.reading import FINDER_PX, LineReader, darkness_of
from ocr.line_reader.stacks import FIND, LINE, axis_of, stacked
from ocr.model_files.locate import LINES, find_directory

_ROOT = Path(__file__).parents[3]
_A4 = FINDER_PX, 830
_WIDTHS = (256, 1024, 1536)
_NUMBERS = {FIND: (1, 4, 16, 64), LINE: (1, 4, 16, 64, 256)}
_DPI, _MOST_PX, _REPEATS = 200, 3400, 20
Row = dict[str, Any]


class Arm:
    """The networks on a device, eagerly or with all graphs captured ahead."""

    def __init__(self, folder: Path, device: torch.device, dtype: torch.dtype | None, graphs: bool) -> None:
        self.lines = LinePaths(folder, device, dtype)
        self.manager = EncoderGraphManager(
            self.lines.paths, GraphSettings(graphs="auto" if graphs else "off", max_items=256), device
        )
        self.networks = GraphNetworks(self.lines, self.manager.encode)


def rates(arms: dict[str, Arm]) -> Iterator[Row]:
    """Yields how many images a second each arm takes, of each path, size and number."""
    random = np.random.default_rng(1)
    axes = [(FIND, _A4), *((LINE, (HEIGHT_PX, width)) for width in _WIDTHS)]
    for name, arm in arms.items():
        if name == "graphs":
            wanted: dict[str, list[Any]] = {FIND: [], LINE: []}
            for path, size in axes:
                wanted[path].append(axis_of(path, *size))
            began = time.perf_counter()
            arm.manager.warm_up(wanted)
            print(f"captured in {time.perf_counter() - began:.1f} s:", flush=True)
            for path, stats in arm.manager.stats().items():
                print(f"  {path}: {stats.budgets}, {stats.graph_bytes >> 20} MiB, {stats.losing_graphs} lost")
    for path, size in axes:
        images = [random.integers(0, 256, size, np.uint8) for _ in range(max(_NUMBERS[path]))]
        for number in _NUMBERS[path]:
            stacks = list(stacked(path, images[:number]))
            row: Row = {"path": path, "size": size, "at once": number}
            for name, arm in arms.items():
                seconds = []
                for _ in range(_REPEATS):
                    began = time.perf_counter()
                    arm.networks.run(stacks)
                    seconds.append(time.perf_counter() - began)
                row[f"{name} ms"] = 1000 * median(seconds)
                row[f"{name} a second"] = number / median(seconds)
            yield row


def texts(folders: Sequence[Path], most: int, networks: dict[str, Networks]) -> dict[str, float]:
    """Returns the characters that differ of 10,000 between the first networks and each of the others."""
    wrong, total = dict.fromkeys(networks, 0), 0
    for name, page in _pages(folders, most):
        found = {}
        for key, its in networks.items():
            reader = LineReader(its)
            found[key] = reader.read(page, reader.find(page))
        first = found[next(iter(networks))]
        num_chars = sum(len(read.text) for read in first)
        total += num_chars
        edits = {
            key: Levenshtein.distance(_others(first, lines), _others(lines, first))
            for key, lines in found.items()
        }
        if any(edits.values()):
            print(f"  {name}: {edits} of {num_chars}", flush=True)
        wrong = {key: wrong[key] + edits[key] for key in wrong}
    print(f"{total} characters")
    return {key: 1e4 * number / max(1, total) for key, number in wrong.items()}


def _others(lines: Sequence[ReadLine], beside: Sequence[ReadLine]) -> str:
    """Returns the lines that are not among those beside, downwards, each row from the left."""
    known = {read.text for read in beside}
    kept = sorted((read.line.middle, read.line.left, read.text) for read in lines if read.text not in known)
    return "\n".join(text for _, _, text in kept)


def _pages(folders: Sequence[Path], most: int) -> Iterator[tuple[str, Shades]]:
    files = sorted(file for folder in folders for file in folder.rglob("*") if file.is_file())
    for file in files:
        try:
            document = pymupdf.open(file)
        except (RuntimeError, ValueError):
            continue
        with document:
            for number, page in enumerate(document, 1):
                if most <= 0:
                    return
                most -= 1
                scale = min(_DPI / 72, _MOST_PX / max(page.rect.width, page.rect.height))
                drawn = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csGRAY)
                grey = np.frombuffer(drawn.samples, np.uint8).reshape(drawn.height, drawn.stride)
                yield f"{file.name}, page {number}", darkness_of(grey[:, : drawn.width])


def _profile(arm: Arm) -> None:
    random = np.random.default_rng(1)
    for path, size, number in ((FIND, _A4, 16), (LINE, (HEIGHT_PX, 1024), 64)):
        stacks = list(stacked(path, [random.integers(0, 256, size, np.uint8)] * number))
        arm.networks.run(stacks)
        with torch.profiler.profile() as profile:
            arm.networks.run(stacks)
        print(path, number, "at once")
        print(profile.key_averages().table(sort_by="cuda_time_total", row_limit=25, max_name_column_width=60))


def main() -> None:
    """Prints rates and texts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path, default=[_ROOT / "tests" / "samples"])
    parser.add_argument("--pages", type=int, default=40)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--output-json", type=Path)
    args = parser.parse_args()
    folder, device = find_directory("small") / LINES, torch.device(args.device)
    arms = {name: Arm(folder, device, None, name == "graphs") for name in ("eager", "graphs")}
    rows = []
    for row in rates(arms):
        rows.append(row)
        print(
            ", ".join(f"{k} {v:,.2f}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()),
            flush=True,
        )
    if args.profile:
        _profile(arms["eager"])
    exact = Arm(folder, device, torch.float32, False).networks
    bfloat = Arm(folder, device, torch.bfloat16, False).networks
    networks: dict[str, Networks] = {"float32": exact, "onnx": OnnxNetworks(folder)}
    networks |= {"device's": arms["graphs"].networks, "bfloat16": bfloat}
    differ = texts(args.folders, args.pages, networks)
    print(
        "characters of 10,000 that differ from float32:",
        {key: round(value, 2) for key, value in differ.items()},
    )
    if args.output_json:
        args.output_json.write_text(json.dumps({"rates": rows, "differ": differ}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()

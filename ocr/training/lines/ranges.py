"""Measures between which values the reader's activations lie, so that its convolutions can run in 8 bits.

On lines of drawn pages, clean and worn; ocr.line_reader.layers says what becomes of the ranges.
"""

import random
from argparse import Namespace
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ocr.line_reader.found_lines import Floats
from ocr.line_reader.layers import RANGE, stored_in
from ocr.line_reader.networks import STEP_PX, read_sizes, reader_graph
from ocr.training.lines.line_batches import cut_lines
from ocr.training.lines.page_streams import ReaderPages

# What lies within the bounds of so many per cent of the lines, and so much further, is not clipped.
_WITHIN, _FURTHER = 95, 1.12
_PAGES, _LINES, _WEAR = 12, 300, (0.0, 1.0)


def drawn_lines(data: Path, characters: str, seed: int = 0) -> list[Floats]:
    """Returns images of lines, [HEIGHT_PX, W] each. data: what ocr.training.corpus made. characters: those drawn."""
    torch.manual_seed(seed)
    args = Namespace(data=data, seed=seed, pages=_PAGES, real=0.0, teacher=None)
    [batch] = islice(ReaderPages(args, characters, "train", 0.0), 1)
    lines = [
        image[0, :, : -(-int(width) // STEP_PX) * STEP_PX].float().numpy()
        for wear in _WEAR
        for cut in cut_lines(batch, torch.device("cpu"), wear)
        for image, width in zip(cut.images, cut.widths, strict=True)
    ]
    return random.Random(seed).sample(lines, min(_LINES, len(lines)))


def ranges(weights: Path, lines: Sequence[Floats]) -> dict[str, Tensor]:
    """Returns the ranges that reader.safetensors in a folder should hold, [2] float16 each. lines: [HEIGHT_PX, W]."""
    _, sizes = read_sizes(weights)
    stored = stored_in(weights / "reader.safetensors")
    exact = reader_graph(sizes, {name: its for name, its in stored.items() if not name.endswith(RANGE)})
    session = exact.session("line", dict.fromkeys(exact.met.values(), 4))
    bounds = []
    for line in lines:
        met = session.run([*exact.met.values()], {"line": line[None, None]})
        bounds.append([(array.min(), array.max()) for array in met])
    least, most = (np.percentile(bounds, share, axis=0).T for share in (100 - _WITHIN, _WITHIN))
    pairs = zip(np.minimum(least[0], 0), np.maximum(most[1], 0), strict=True)
    return {
        name + RANGE: torch.tensor(pair, dtype=torch.float16) * _FURTHER
        for name, pair in zip(exact.met, pairs, strict=True)
    }

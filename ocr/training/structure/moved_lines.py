"""Characters of a page in the wrong place, as a network puts its lines in order."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ocr.line_reader.found_lines import Floats
from ocr.line_reader.line_structure import LineStructure, structure_of
from ocr.line_reader.structure_network import TABULAR
from ocr.training.structure.placed_lines import LinePage


def num_moved(page: LinePage, said: LineStructure) -> int:
    """Returns how many characters are in the wrong place. said: of a page's lines, whose own order is the truth."""
    lengths = [len(line.text) for line in page.lines]
    return page.num_characters - heaviest_rise(said.order.tolist(), lengths)


def heaviest_rise(order: Sequence[int], weights: Sequence[int]) -> int:
    """Returns the weight of the heaviest part of an order that rises: what is outside of it is in the wrong place."""
    best = np.zeros(len(order) + 1, np.int64)  # by the last number
    for number in order:
        best[number + 1] = best[: number + 1].max() + weights[number]
    return int(best.max())


def decoded(page: LinePage, roles: Floats, pairs: Floats) -> LineStructure:
    """Returns the structure of a page's lines, which come in the order of reading: as if they came in another one."""
    places = np.array([(line.x0, line.x1, line.base, line.size) for line in page.lines], np.float32)
    mixed = np.random.default_rng(0).permutation(len(places))
    said = structure_of(roles[mixed], pairs[:, mixed][:, :, mixed], places[mixed], TABULAR)
    own = np.argsort(mixed)
    named = {name: getattr(said, name)[own] for name in ("blocks", "roles", "rows", "columns")}
    return replace(said, order=mixed[said.order], **named)

"""The network that reads a page's structure, in NumPy: the same as `ocr.line_networks.structure_net` in torch.

A page is a few hundred lines, for which ONNX Runtime's start would cost more than it saves.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np

from ocr.line_reader.found_lines import Floats
from ocr.line_reader.line_features import LineTokens, pair_geometry
from ocr.line_reader.networks import CODED, expanded, stored_in

WEIGHTS, SIZES = "structure.safetensors", "structure.json"
SHIPPED = Path(__file__).parents[1] / "weights" / "structure"
ROLES = (
    "text", "title", "heading 1", "heading 2", "heading 3", "list item", "table cell", "table head", "caption",
    "footnote", "contents", "page header", "page footer", "page number", "formula", "code", "form", "margin note",
)  # fmt: skip
TABULAR = tuple(map(ROLES.index, ("table cell", "table head")))
_ROWS = 64  # first lines of the pairs that are looked at together
_PAIRS = 4  # before, same block, same row, same column


class StructureNetwork:
    """Reads roles of lines and relations of pairs. folder: of structure.safetensors and structure.json."""

    def __init__(self, folder: Path) -> None:
        stored = stored_in(folder / WEIGHTS)
        self._weights = {name: expanded(name, stored) for name in stored if not name.endswith(CODED)}
        sizes = json.loads((folder / SIZES).read_text(encoding="utf-8"))
        self._layers, self._heads = int(sizes["layers"]), int(sizes["heads"])

    def logits(self, tokens: LineTokens) -> tuple[Floats, Floats]:
        """Returns roles [N, num_roles] and pairs [4, N, N] of the lines, as logits."""
        count = len(tokens.numbers)
        spelt = self._linear("spelling", self._weights["letters.weight"][tokens.letters].reshape(count, -1))
        lines = self._linear("enter", np.maximum(self._linear("numbers", tokens.numbers) + spelt, 0))
        biases = np.empty((self._layers * self._heads, count, count), np.float32)
        near = np.empty((_PAIRS, count, count), np.float32)
        for start in range(0, count, _ROWS):  # at once the hidden layers of many lines would take gigabytes
            rows = slice(start, start + _ROWS)
            pairs = np.maximum(self._linear("geometry", pair_geometry(tokens.places, firsts=rows)), 0)
            pairs = np.maximum(self._linear("geometry_deep", pairs), 0)
            biases[:, rows] = self._linear("biases", pairs).transpose(2, 0, 1)
            near[:, rows] = self._linear("pair_geometry", pairs).transpose(2, 0, 1)
        for number, bias in enumerate(biases.reshape(self._layers, self._heads, count, count)):
            lines = self._block(f"blocks.{number}", lines, bias)
        kept = tokens.num_lines
        lines, near = self._normed("norm", lines)[:kept], near[:, :kept, :kept]
        matches = self._linear("matches", lines).reshape(len(lines), 2, _PAIRS, -1)
        first, second = matches.transpose(1, 2, 0, 3)
        scores = first @ second.transpose(0, 2, 1) / np.sqrt(np.float32(first.shape[-1]))
        scores += near
        turned = scores.transpose(0, 2, 1)
        related = np.concatenate([scores[:1] - turned[:1], scores[1:] + turned[1:]])
        return self._linear("roles", lines), related

    def _block(self, name: str, lines: Floats, bias: Floats) -> Floats:
        count, width = lines.shape
        mixed = self._linear(f"{name}.inputs", self._normed(f"{name}.first", lines))
        queries, keys, values = mixed.reshape(count, 3, self._heads, -1).transpose(1, 2, 0, 3)
        scores = queries @ keys.transpose(0, 2, 1) / np.sqrt(np.float32(width // self._heads)) + bias
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        seen = (weights @ values).transpose(1, 0, 2).reshape(count, width)
        lines = lines + self._linear(f"{name}.output", seen)
        wide = np.maximum(self._linear(f"{name}.wide", self._normed(f"{name}.second", lines)), 0)
        return lines + self._linear(f"{name}.narrow", wide)

    def _linear(self, name: str, inputs: Floats) -> Floats:
        return inputs @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _normed(self, name: str, lines: Floats) -> Floats:
        centred = lines - lines.mean(-1, keepdims=True)
        scale = np.sqrt((centred**2).mean(-1, keepdims=True) + np.float32(1e-5))
        made: Floats = centred / scale * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return made


@cache
def shipped() -> StructureNetwork:
    """Returns the network that ships."""
    return StructureNetwork(SHIPPED)

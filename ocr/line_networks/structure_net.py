"""The network that reads a page's structure from its lines: which comes first, which belong together, what each is."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ocr.line_reader.line_features import HEAD, NUM_FEATURES, NUM_LETTERS, NUM_PAIR, TAIL, pair_geometry

PAIRS = ("before", "same block", "same row", "same column")
_FAR = -1e4


@dataclass(frozen=True, slots=True, kw_only=True)
class StructureSizes:
    """width, layers, heads: of the transformer. letter: numbers a letter; geometry: of a pair's hidden layer; match: of
    the vectors by which pairs of lines are compared.
    """

    num_roles: int
    width: int = 128
    layers: int = 4
    heads: int = 4
    letter: int = 8
    geometry: int = 32
    match: int = 32


class StructureNet(nn.Module):
    """A transformer over the lines of a page, without an order of its own: attention is biased by pairs' geometry."""

    def __init__(self, sizes: StructureSizes) -> None:
        super().__init__()
        self.sizes, width = sizes, sizes.width
        self.letters = nn.Embedding(NUM_LETTERS, sizes.letter)
        self.spelling = nn.Linear((HEAD + TAIL) * sizes.letter, width)
        self.numbers = nn.Linear(NUM_FEATURES, width)
        self.enter = nn.Linear(width, width)
        self.geometry = nn.Linear(NUM_PAIR, sizes.geometry)
        self.geometry_deep = nn.Linear(sizes.geometry, sizes.geometry)
        self.biases = nn.Linear(sizes.geometry, sizes.layers * sizes.heads)
        self.blocks = nn.ModuleList(_Block(width, sizes.heads) for _ in range(sizes.layers))
        self.norm = nn.LayerNorm(width)
        self.roles = nn.Linear(width, sizes.num_roles)
        self.matches = nn.Linear(width, 2 * len(PAIRS) * sizes.match)
        self.pair_geometry = nn.Linear(sizes.geometry, len(PAIRS))

    def forward(
        self, numbers: Tensor, letters: Tensor, places: Tensor, inside: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Returns roles [B, N, num_roles] and pairs [B, len(PAIRS), N, N], as logits.

        numbers, letters, places: as LineTokens has them, [B, N, ...]. inside: [B, N] bool, False where padded.
        """
        batch, count = inside.shape
        spelt = self.spelling(self.letters(letters.long()).flatten(2))
        lines = self.enter(F.relu(self.numbers(numbers) + spelt))
        pairs = F.relu(self.geometry(pair_geometry(places, torch)))
        pairs = F.relu(self.geometry_deep(pairs))
        biases = self.biases(pairs).permute(0, 3, 1, 2) + torch.where(inside, 0.0, _FAR)[:, None, None]
        for block, bias in zip(self.blocks, biases.chunk(self.sizes.layers, 1), strict=True):
            lines = block(lines, bias)
        lines = self.norm(lines)
        first, second = self.matches(lines).view(batch, count, 2, len(PAIRS), -1).permute(2, 0, 3, 1, 4)
        scores = first @ second.transpose(2, 3) / self.sizes.match**0.5 + self.pair_geometry(pairs).permute(
            0, 3, 1, 2
        )
        before = scores[:, :1] - scores[:, :1].transpose(2, 3)
        others = scores[:, 1:] + scores[:, 1:].transpose(2, 3)
        return self.roles(lines), torch.cat([before, others], 1)


class _Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inputs, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 3 * width), nn.Linear(3 * width, width)

    def forward(self, lines: Tensor, bias: Tensor) -> Tensor:
        batch, count, width = lines.shape
        queries, keys, values = (
            self.inputs(self.first(lines)).view(batch, count, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        )
        weights = (queries @ keys.transpose(2, 3) / (width // self.heads) ** 0.5 + bias).softmax(-1)
        lines = lines + self.output((weights @ values).transpose(1, 2).reshape(batch, count, width))
        made: Tensor = lines + self.narrow(F.relu(self.wide(self.second(lines))))
        return made

"""Packs one step of several rows: their new tokens one after the other, as one sequence in a batch of one.

Rows bring different numbers of tokens at different lengths, yet matrix products see no padding at all. Only
attention knows the rows; the language model calls it by the name ATTENTION.
Shapes: N new tokens of all rows, B rows, H heads, G query heads that share keys, t new tokens of a row, d width.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import torch
from torch.nn.functional import scaled_dot_product_attention

from ocr.model.text_attention import ATTENTION as IMPLEMENTATIONS

ATTENTION = "ocr_packed_rows"
# How much more work padding may be before rows go one by one. Eight rows of 1,100 tokens, one new token each: a step
# takes 41 ms of a CPU core together, 47 row by row.
_RAGGED = 1.15


class KeyValues(Protocol):
    """The part of ocr.decoding.cpu.slots.Slots that a step needs."""

    def write(
        self, layer: int, slot_N: torch.Tensor, position_N: torch.Tensor, *states_NHd: torch.Tensor
    ) -> None:
        """Stores keys and values, each [N, H, d], in these slots at these positions."""

    def read(self, layer: int, slots: slice, length: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns views of keys and values, [slots, H, length, d]."""


@dataclass(frozen=True)
class PackedStep:
    """The rows of one step, which the text model's attention gets as `past_key_values` and as `step`.

    starts: tokens that each row holds before this step; row i is in slot i. counts: new tokens of each row, >= 1.
    """

    kept: KeyValues
    starts: Sequence[int]
    counts: Sequence[int]
    device: torch.device

    @cached_property
    def token_rows(self) -> torch.Tensor:
        """The row of each new token, and its number among the row's new ones, [2, N]."""
        pairs = [(row, number) for row, count in enumerate(self.counts) for number in range(count)]
        return torch.tensor(pairs, device=self.device).T

    @cached_property
    def start_of_rows(self) -> torch.Tensor:
        """The tokens that each row holds before this step, [B]."""
        return torch.tensor(self.starts, device=self.device)

    @cached_property
    def positions(self) -> torch.Tensor:
        """The position of each new token in its row, [N]."""
        return self.start_of_rows[self.token_rows[0]] + self.token_rows[1]

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer_idx: int, *_: object, **__: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Stores new keys and values, [1, H, N, d], and returns them as they are: attention reads the stored ones."""
        new = (states[0].transpose(0, 1) for states in (keys, values))
        self.kept.write(layer_idx, self.token_rows[0], self.positions, *new)
        return keys, values

    def attend(self, layer: int, query_1HNd: torch.Tensor, scaling: float | None) -> torch.Tensor:
        """Returns the attention's output, [1, N, H, d].

        A CPU goes row by row where padding would cost more; on a GPU that would spend the time on kernel launches.
        """
        if self._is_ragged and self.device.type == "cpu":
            return self._row_by_row(layer, query_1HNd, scaling)
        return self._together(layer, query_1HNd, scaling)

    @cached_property
    def _is_ragged(self) -> bool:
        pairs = [(start + count, count) for start, count in zip(self.starts, self.counts, strict=True)]
        padded = len(pairs) * max(length for length, _ in pairs) * max(self.counts)
        return padded > _RAGGED * sum(length * count for length, count in pairs)

    def _row_by_row(self, layer: int, query_1HNd: torch.Tensor, scaling: float | None) -> torch.Tensor:
        parts = []
        for row, query_1Htd in enumerate(torch.split(query_1HNd, list(self.counts), dim=2)):
            length = self.starts[row] + self.counts[row]
            keys, values = self.kept.read(layer, slice(row, row + 1), length)
            parts.append(_grouped(query_1Htd, keys, values, self._masks[row], scaling))
        return torch.cat(parts, dim=2).transpose(1, 2)

    @cached_property
    def _masks(self) -> list[torch.Tensor | None]:
        """The mask of each row, [t, length]; None where its only new token sees everything."""
        return [
            None if count == 1 else torch.ones(count, start + count, dtype=torch.bool).tril(start)
            for start, count in zip(self.starts, self.counts, strict=True)
        ]

    def _together(self, layer: int, query_1HNd: torch.Tensor, scaling: float | None) -> torch.Tensor:
        """Attends for all rows in one call, padded to the longest."""
        rows_N, numbers_N = self.token_rows
        query_NHd = query_1HNd[0].transpose(0, 1)
        heads, width = query_NHd.shape[1:]
        keys, values = self.kept.read(layer, slice(0, len(self.counts)), self._padded_mask.shape[-1])
        if max(self.counts) == 1:
            out_BH1d = _grouped(query_NHd[:, :, None], keys, values, self._padded_mask, scaling)
            return out_BH1d[:, :, 0][None]
        query_BHtd = query_NHd.new_zeros(len(self.counts), heads, max(self.counts), width)
        query_BHtd[rows_N, :, numbers_N] = query_NHd
        out_BHtd = _grouped(query_BHtd, keys, values, self._padded_mask, scaling)
        return out_BHtd[rows_N, :, numbers_N][None]

    @cached_property
    def _padded_mask(self) -> torch.Tensor:
        """The mask of all rows, [B, 1, t, L]: True where a new token attends."""
        longest = max(map(sum, zip(self.starts, self.counts, strict=True)))
        key_L = torch.arange(-(-longest // 8) * 8, device=self.device)  # else kernels would pad the mask
        last_Bt = self.start_of_rows[:, None] + torch.arange(max(self.counts), device=self.device)
        return (key_L <= last_Bt[:, :, None])[:, None]


def _grouped(
    query_BHtd: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    mask: torch.Tensor | None,
    scaling: float | None,
) -> torch.Tensor:
    """Returns attention [B, H, t, d]; query heads that share keys become further queries, so no key is repeated."""
    batch, heads, count, width = query_BHtd.shape
    groups = heads // keys.shape[1]
    query = query_BHtd.to(keys.dtype).reshape(batch, keys.shape[1], groups * count, width)
    if mask is not None and groups > 1:
        mask = mask.repeat(*[1] * (mask.dim() - 2), groups, 1)
    out = scaled_dot_product_attention(query, keys, values, attn_mask=mask, scale=scaling)
    return out.reshape(batch, heads, count, width)


def _attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    *,
    step: PackedStep,
    **_: object,
) -> tuple[torch.Tensor, None]:
    return step.attend(module.layer_idx, query, scaling), None


IMPLEMENTATIONS[ATTENTION] = _attention


@contextmanager
def packed_attention(language_model: Any) -> Iterator[None]:
    """Makes the language model attend through PackedStep for as long as the context lasts."""
    config = language_model.config
    before = getattr(config, "_attn_implementation", None)
    config._attn_implementation = ATTENTION
    try:
        yield
    finally:
        config._attn_implementation = before

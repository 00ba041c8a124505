"""Holds keys and values of all pages being read, in blocks of equal size that pages take as they grow."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

SCRATCH = 0  # the block that padded rows write to; never given to a page


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolShape:
    """The dimensions of a model's cache. heads: of keys and values.

    block_tokens: for Triton's kernels a power of two, at least 16.
    """

    layers: int
    heads: int
    head_dim: int
    block_tokens: int
    dtype: torch.dtype

    @classmethod
    def of(cls, language_model: Any, dtype: torch.dtype, block_tokens: int = 64) -> "PoolShape":
        """Returns the shape for a text model, or for anything with its config and layers. dtype: the model's."""
        config = language_model.config
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        return cls(
            layers=len(language_model.layers),
            heads=config.num_key_value_heads,
            head_dim=width,
            block_tokens=block_tokens,
            dtype=dtype,
        )

    @property
    def token_bytes(self) -> int:
        """The bytes of one token's keys and values in all layers."""
        return 2 * self.layers * self.heads * self.head_dim * self.dtype.itemsize

    @property
    def block_bytes(self) -> int:
        """The bytes of one block in all layers."""
        return self.token_bytes * self.block_tokens

    def blocks(self, tokens: int) -> int:
        """Returns how many blocks hold this many tokens."""
        return -(-tokens // self.block_tokens)


class BlockPool:
    """Allocates blocks of the key-value cache. max_bytes: never exceeded, the scratch block included.

    keys, values: per layer [blocks, heads, block_tokens, head_dim]. Heads come before tokens, so that one program of
    the attention kernel reads one contiguous piece at a time (16 KB for 64 tokens of width 128 in bf16).
    They start as zeros: masked values are multiplied by zero all the same, and must be numbers. zeroed: False where
    nothing beyond a page's tokens is ever read; memory that is not written to is then none of the process's.

    Raises: ValueError when max_bytes does not hold the scratch block and one more.
    """

    def __init__(
        self, shape: PoolShape, max_bytes: int, device: torch.device, *, zeroed: bool = True
    ) -> None:
        count = max_bytes // shape.block_bytes
        if count < 2:
            raise ValueError(
                f"{max_bytes:,} bytes of key-value cache hold fewer than two blocks of {shape.block_bytes:,}; "
                "allow more"
            )
        self.shape = shape
        self._zeroed = zeroed
        self.num_blocks = int(count)
        size = (self.num_blocks, shape.heads, shape.block_tokens, shape.head_dim)
        new = torch.zeros if zeroed else torch.empty
        self.keys = [new(size, dtype=shape.dtype, device=device) for _ in range(shape.layers)]
        self.values = [new(size, dtype=shape.dtype, device=device) for _ in range(shape.layers)]
        self._free = list(range(self.num_blocks - 1, SCRATCH, -1))

    @property
    def num_free(self) -> int:
        """The number of free blocks."""
        return len(self._free)

    def take(self, count: int) -> list[int] | None:
        """Returns this many blocks, or None if fewer are free."""
        if count > len(self._free):
            return None
        return [self._free.pop() for _ in range(count)]

    def give_back(self, blocks: list[int]) -> None:
        """Frees blocks. The device may still write to them for earlier launches; later launches come after that."""
        self._free.extend(reversed(blocks))

    def write_prompts(self, layer: int, keys_NHLd: Tensor, values_NHLd: Tensor, blocks_NB: Tensor) -> None:
        """Writes prompts of equal length into their blocks. blocks_NB: int64.

        Blocks that were zeroed are filled up with zeros; else a page has a single one.
        """
        for pool, states in ((self.keys[layer], keys_NHLd), (self.values[layer], values_NHLd)):
            count, heads, length, width = states.shape
            if not self._zeroed:
                pool[blocks_NB[:, 0], :, :length] = states.to(pool.dtype)
                continue
            room = blocks_NB.shape[1] * self.shape.block_tokens
            padded = torch.nn.functional.pad(states, (0, 0, 0, room - length))
            pieces = padded.view(count, heads, -1, self.shape.block_tokens, width).transpose(1, 2)
            pool[blocks_NB.flatten()] = pieces.flatten(0, 1).to(pool.dtype)

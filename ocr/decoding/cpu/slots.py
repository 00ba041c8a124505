"""Keys and values of the rows being read, and the model's forward pass over them.

Every row has a length of its own, so rows of different lengths step together without padding, and a row goes back
to an earlier token by a smaller length. Rows fill the first slots; the last one moves into a slot that becomes free.
Shapes: B rows, L tokens of a prompt, N tokens of a step, S slots, C tokens each has room for, H heads, d width, V
vocabulary.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from ocr.decoding.cpu.packed import PackedStep, packed_attention
from ocr.decoding.sequence.greedy import TextReader

_CHUNK_TOKENS = 256
# Not cuDNN's, which makes a plan for every length: 31 pages took 95 s on an H200, most of it for plans.
_ATTENTION = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


class Slots:
    """A key/value cache with a slot for each row. lengths: tokens that each row holds, in the order of slots.

    There are as many slots as there were rows at once, each with room for the longest in chunks of 256 tokens. Keys
    are kept in the number format of values, which is that of their projection's output (encoders.bfloat16).
    """

    def __init__(self, model: TextReader) -> None:
        self._model = model
        self._states: list[tuple[torch.Tensor, torch.Tensor] | None] = [None] * len(
            model.language_model.layers
        )
        self._num_slots = self._capacity = 0
        self.lengths: list[int] = []

    def __len__(self) -> int:
        return len(self.lengths)

    def prefill(self, prompts_BLD: torch.Tensor) -> torch.Tensor:
        """Prefills new rows behind the present ones and returns fp32 logits [B, V] of each one's first token.

        Prompts of one length need neither padding nor mask, which leaves attention its fastest kernels.
        """
        count, length, _ = prompts_BLD.shape
        self._reserve(len(self) + count, length)
        positions_1L = torch.arange(length, device=prompts_BLD.device)[None]
        with _kernels(prompts_BLD.device):
            hidden_BLD = self._model.language_model(
                inputs_embeds=prompts_BLD,
                position_ids=positions_1L,
                attention_mask={"full_attention": None},
                past_key_values=_Prefill(self),
                use_cache=True,
            ).last_hidden_state
        self.lengths += [length] * count
        logits_BV: torch.Tensor = self._model.lm_head(hidden_BLD[:, -1])
        return logits_BV.float()

    def step(self, fed: Sequence[Sequence[int]]) -> torch.Tensor:
        """Returns fp32 logits [N, V] after each token fed, row by row; `accept` then says how many tokens are kept."""
        language_model = self._model.language_model
        embed_tokens = language_model.get_input_embeddings()
        ids_N = torch.tensor([token for row in fed for token in row], device=embed_tokens.weight.device)
        longest = max(length + len(row) for length, row in zip(self.lengths, fed, strict=True))
        self._reserve(len(self), longest)
        step = PackedStep(self, tuple(self.lengths), [len(row) for row in fed], ids_N.device)
        with _kernels(ids_N.device), packed_attention(language_model):
            hidden_1ND = language_model(
                inputs_embeds=embed_tokens(ids_N)[None],
                position_ids=step.positions[None],
                attention_mask={"full_attention": None},
                past_key_values=step,
                use_cache=True,
                step=step,
            ).last_hidden_state
        logits_NV: torch.Tensor = self._model.lm_head(hidden_1ND[0])
        return logits_NV.float()

    def accept(self, counts: Sequence[int]) -> None:
        """Keeps the first counts[i] of the tokens that the last step fed to row i."""
        self.lengths = [length + count for length, count in zip(self.lengths, counts, strict=True)]

    def release(self, slot: int) -> None:
        """Frees a row's slot; the last row moves into it."""
        length = self.lengths.pop()
        if slot == len(self):
            if not self.lengths:
                self._forget()
            return
        self.lengths[slot] = length
        for states in filter(None, self._states):
            for buffer in states:
                buffer[slot, :, :length] = buffer[len(self), :, :length]

    def write(
        self, layer: int, slot_N: torch.Tensor, position_N: torch.Tensor, *states_NHd: torch.Tensor
    ) -> None:
        """Stores keys and values, each [N, H, d], in these slots at these positions."""
        for buffer, new_NHd in zip(self._room(layer, states_NHd[-1]), states_NHd, strict=True):
            buffer[slot_N, :, position_N] = new_NHd.to(buffer.dtype)

    def write_prompts(self, layer: int, *states_BHLd: torch.Tensor) -> None:
        """Stores keys and values of new rows, each [B, H, L, d]."""
        count, _, length, _ = states_BHLd[0].shape
        for buffer, new_BHLd in zip(self._room(layer, states_BHLd[-1]), states_BHLd, strict=True):
            buffer[len(self) : len(self) + count, :, :length] = new_BHLd

    def read(self, layer: int, slots: slice, length: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns views of keys and values, [slots, H, length, d]."""
        states = self._states[layer]
        assert states is not None
        keys, values = states
        return keys[slots, :, :length], values[slots, :, :length]

    def _forget(self) -> None:
        """Drops all buffers once there are no rows, so that one long page does not make later ones large."""
        self._states = [None] * len(self._states)
        self._num_slots = self._capacity = 0

    def num_bytes(self, rows: int, tokens: int) -> int:
        """Returns the bytes that keys and values of this many rows take when the longest holds this many tokens."""
        config = self._model.language_model.config
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        attention = getattr(self._model.language_model.layers[0], "self_attn", None)
        made_by = self._model.language_model.get_input_embeddings() if attention is None else attention.v_proj
        dtype = made_by.weight.dtype
        of_a_token = 2 * len(self._states) * config.num_key_value_heads * width * dtype.itemsize
        return rows * max(_in_chunks(tokens), self._capacity) * int(of_a_token)

    def _reserve(self, rows: int, tokens: int) -> None:
        """Raises the number of slots, or their capacity; only the slots in use are kept when the capacity grows."""
        if tokens > self._capacity:
            self._num_slots, self._capacity = rows, _in_chunks(tokens)
        self._num_slots = max(rows, self._num_slots)

    def _room(self, layer: int, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns a layer's buffers, [S, H, C, d]; larger ones where there is too little room."""
        states = self._states[layer]
        if states is None or states[0].shape[::2] != (self._num_slots, self._capacity):
            shape = (self._num_slots, like.shape[1], self._capacity, like.shape[-1])
            # Zeros, since a masked cell that is not a number would still spoil the sum.
            grown = like.new_zeros(shape), like.new_zeros(shape)
            if states is not None and self.lengths:
                filled = max(self.lengths)
                for new, old in zip(grown, states, strict=True):
                    new[: len(self), :, :filled] = old[: len(self), :, :filled]
            self._states[layer] = states = grown
        return states


@dataclass(frozen=True)
class _Prefill:
    """The `past_key_values` that the text model's attention gets for new rows."""

    slots: Slots

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer_idx: int, *_: object, **__: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Stores the prompts' keys and values, [B, H, L, d], and returns them in one number format."""
        self.slots.write_prompts(layer_idx, keys, values)
        return keys, values.to(keys.dtype)


def _kernels(device: torch.device) -> AbstractContextManager[None]:
    return sdpa_kernel(_ATTENTION) if device.type == "cuda" else nullcontext()


def _in_chunks(tokens: int) -> int:
    return -(-tokens // _CHUNK_TOKENS) * _CHUNK_TOKENS

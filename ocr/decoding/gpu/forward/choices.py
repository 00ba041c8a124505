"""Chooses the next token from the logits, on the device."""

from collections.abc import Collection, Iterable, Sequence

import torch
from torch import Tensor

try:
    from ocr.decoding.gpu.kernels import paged_kernels
except ImportError:  # no Triton for this platform
    paged_kernels = None  # type: ignore[assignment]


_BLOCK = 2048
_PART = 4 * _BLOCK


def choose_into(logits_SV: Tensor, tokens_S: Tensor, results_S2: Tensor, *, fused: bool) -> None:
    """Writes each row's likeliest token to tokens (int64), and token and log probability to results (fp32).

    Among equal logits the first wins. A token's id is exact in fp32 up to 2**24, beyond any vocabulary.
    """
    if fused:
        _choose_fused(logits_SV, tokens_S, results_S2)
        return
    logits = logits_SV.float()
    chosen = logits.argmax(-1)
    tokens_S.copy_(chosen)
    results_S2[:, 0] = chosen
    results_S2[:, 1] = logits.gather(1, chosen[:, None])[:, 0] - logits.logsumexp(-1)


def _choose_fused(logits_SV: Tensor, tokens_S: Tensor, results_S2: Tensor) -> None:
    rows, vocab = logits_SV.shape
    parts = -(-vocab // _PART)
    peaks, shares = torch.empty(2, rows, parts, device=logits_SV.device).unbind(0)
    places = torch.empty(rows, parts, dtype=torch.int32, device=logits_SV.device)
    paged_kernels.likeliest_parts[(rows, parts)](
        logits_SV, peaks, places, shares, logits_SV.stride(0), vocab,
        PARTS=parts, BLOCK=_BLOCK, PART=_PART, num_warps=4,
    )  # fmt: skip
    paged_kernels.likeliest[(rows,)](
        peaks, places, shares, tokens_S, results_S2, vocab,
        PARTS=parts, PADDED=1 << (parts - 1).bit_length(), num_warps=1,
    )  # fmt: skip


def choose_allowed(
    logits_RV: Tensor,
    banned: Sequence[Collection[int]],
    noise: Sequence[Tensor | None] = (),
) -> Tensor:
    """Returns the likeliest tokens that are not banned, fp32 [R, 2]: token, and log probability before bans and noise.

    noise: [V] for each row, or None, added to its logits (ocr.decoding.sequence.page_reading.Sampler). Does not wait
    for the device: bans and noise are copied through pinned memory.
    """
    logits = logits_RV.float()
    pairs = [(row, token) for row, some in enumerate(banned) for token in some]
    rows, tokens = upload_all(([pair[side] for pair in pairs] for side in (0, 1)), logits.device)
    scores = logits.index_put((rows, tokens), logits.new_full((), -torch.inf))
    for row, noise_V in enumerate(noise):
        if noise_V is not None:
            scores[row] += to_device(noise_V, logits.device)
    chosen = scores.argmax(-1)
    logprobs = logits.gather(1, chosen[:, None])[:, 0] - logits.logsumexp(-1)
    return torch.stack([chosen.float(), logprobs], 1)


def upload(values: Sequence[int], device: torch.device) -> Tensor:
    """Returns the values as int64 on the device, without waiting for it."""
    return to_device(torch.tensor(values, dtype=torch.long), device)


def upload_all(lists: Iterable[Sequence[int]], device: torch.device) -> tuple[Tensor, ...]:
    """Returns several lists as int64 tensors on the device, in one copy, without waiting for it."""
    all_ = list(lists)
    whole = upload([value for values in all_ for value in values], device)
    return torch.split(whole, [len(values) for values in all_])


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """Returns a copy of a host tensor on the device, without waiting for it."""
    return tensor if device.type == "cpu" else tensor.pin_memory().to(device, non_blocking=True)

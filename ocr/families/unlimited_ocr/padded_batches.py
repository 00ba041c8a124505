"""Keeps padding hidden from the pages of a batch, which transformers' masks of Unlimited-OCR do not.

Its attention sees the whole prompt and the last tokens written. Where older ones have left the cache, transformers
(5.23) looks up the prompt's padding as many places too far on as have left, so that a page that is padded sees more of
its padding with every token: its text is another than it is alone. Here a step's masks are made of what is cached.
"""

from typing import Any

import torch
from torch import Tensor

_SLIDING = "reference_sliding_attention"


def hide_padding(language_model: Any) -> None:
    """Has transformers' UnlimitedOcrTextModel attend to no padding, which is on the left, at every step."""
    language_model.register_forward_pre_hook(_with_own_masks, with_kwargs=True)


def _with_own_masks(module: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]] | None:
    """Returns the arguments of a forward with masks by kind of layer; None leaves a prompt and a single page."""
    cache, mask_BL, embeds_BTD = kwargs["past_key_values"], kwargs["attention_mask"], kwargs["inputs_embeds"]
    if cache is None or cache.get_seq_length() == 0 or not isinstance(mask_BL, Tensor) or len(mask_BL) == 1:
        return None
    assert embeds_BTD.shape[1] == 1, "after the prompt there is one token a step"
    masks = {"full_attention": _added(mask_BL.bool(), embeds_BTD.dtype)}
    sliding = next((layer for layer in cache.layers if layer._layer_type == _SLIDING), None)
    if sliding is not None:
        num_cached, _ = sliding.get_mask_sizes(1)
        num_recent = num_cached - sliding.prefill_length
        visible_BL = torch.cat([mask_BL[:, : sliding.prefill_length], mask_BL[:, -num_recent:]], dim=1)
        masks[_SLIDING] = _added(visible_BL.bool(), embeds_BTD.dtype)
    return args, {**kwargs, "attention_mask": masks}


def _added(visible_BL: Tensor, dtype: torch.dtype) -> Tensor:
    """Returns what is added to the attention's scores, [B, 1, 1, L]."""
    nothing = torch.zeros((), dtype=dtype, device=visible_BL.device)
    hidden = torch.full_like(nothing, torch.finfo(dtype).min)
    return torch.where(visible_BL, nothing, hidden)[:, None, None, :]

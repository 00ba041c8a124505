"""Gives random weights to a module that was built on the meta device."""

from typing import Any

import torch
from torch import nn

from ocr.model.random_weights import redraw


def draw(module: nn.Module, device: torch.device, dtype: torch.dtype) -> None:
    """Replaces the parameters by random ones, drawn on the device; buffers move there with their numbers.

    Rotary positions of transformers, whose numbers the meta device does not hold, are computed again.
    """
    for owner in list(module.modules()):
        for name, parameter in owner._parameters.items():
            if parameter is not None:
                empty = torch.empty(parameter.shape, dtype=dtype, device=device)
                owner._parameters[name] = nn.Parameter(empty, requires_grad=False)
        for name, child in owner.named_children():
            rotary: Any = child
            if getattr(rotary, "inv_freq", None) is not None and rotary.inv_freq.is_meta:
                setattr(owner, name, type(rotary)(rotary.config))
    module.to(device).eval()
    if device.type != "meta":  # it draws nothing, and takes no generator
        redraw(module)

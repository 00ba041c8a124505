"""Draws random weights that keep activations of order 1, for tests and for measuring speed without a checkpoint.

Fresh SAM weights are near zero by design, so that any two images give equal outputs and a comparison made with
them would pass without testing anything.
"""

import torch
from torch import nn

_RESIDUAL = (
    "attn.proj.weight",
    "lin2.weight",
    "out_proj.weight",
    "fc2.weight",
    "o_proj.weight",
    "down_proj.weight",
)
_UNIT = (
    "embed_tokens.weight",
    "position_embedding.weight",
    "class_embedding",
    "image_newline",
    "view_seperator",
)


@torch.no_grad()
def redraw(model: nn.Module, seed: int = 0) -> None:
    """Redraws every parameter of the model, in place, on its own device."""
    generators: dict[torch.device, torch.Generator] = {}
    for name, parameter in model.named_parameters():
        device = parameter.device
        if device not in generators:
            generators[device] = torch.Generator(device).manual_seed(seed)
        mean, std = _scale(name, parameter)
        parameter.normal_(mean, std, generator=generators[device])


def _scale(name: str, parameter: nn.Parameter) -> tuple[float, float]:
    """Returns (mean, standard deviation) for one parameter."""
    if name.endswith(_UNIT):
        return 0.0, 1.0
    if name.endswith(("pos_embed", "rel_pos_h", "rel_pos_w")):
        return 0.0, 0.3
    if parameter.ndim == 1:
        return (1.0 if name.endswith("weight") else 0.0), 0.2
    fan_in = parameter.shape[-1] if parameter.ndim == 3 else parameter[0].numel()  # 3: stacked experts
    return 0.0, (0.5 if name.endswith(_RESIDUAL) else 1.0) * fan_in**-0.5

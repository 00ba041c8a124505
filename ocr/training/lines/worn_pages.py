"""Wears pages as scans are worn, on the training device, and returns how dark they are."""

import random

import torch
from torch import Tensor

from ocr.training.augment.degrade import degrade

# Of half of the pages: the range of shades, and how dark paper is.
_SHADED, _CONTRAST, _PAPER = 0.5, (0.5, 1.1), (-0.1, 0.35)
# As of a book on a dark lid: shares of batches and of their edges, how wide, how dark.
_EDGED, _EDGES, _EDGE_PX, _EDGE_DARK = 0.25, 0.4, (4, 60), (0.3, 1.0)


@torch.no_grad()
def worn_darkness(pixels: Tensor, strength: float) -> Tensor:
    """Returns [P, 1, H, W] float32, 0 white to 1 black. pixels: [P, H, W] uint8 grey. strength: 0 wears nothing."""
    pages = pixels[:, None]
    return 1 - (degrade(pages, strength) if strength > 0 else pages).float() / 255


def in_poor_light(darkness: Tensor) -> Tensor:
    """Returns pages with less contrast on darker paper, half of the time."""
    if random.random() >= _SHADED:
        return darkness
    return darkness * random.uniform(*_CONTRAST) + random.uniform(*_PAPER)


def on_dark_lid(darkness: Tensor) -> Tensor:
    """Returns pages some of whose edges are dark strips, a quarter of the time. darkness: [P, 1, H, W], changed."""
    if random.random() < _EDGED:
        for side in range(4):
            if random.random() < _EDGES:
                px, dark = random.randint(*_EDGE_PX), random.uniform(*_EDGE_DARK)
                edges = darkness[:, :, :px], darkness[:, :, -px:], darkness[..., :px], darkness[..., -px:]
                edges[side].clamp_(min=dark)
    return darkness

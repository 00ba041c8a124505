"""Degrades batches of clean pages as paper, cameras and files do, on the training device.

The host draws which page gets which effects, so that each effect runs on its pages alone and nothing waits for the
device. The effects on a page share a budget: several mild ones or a strong one, and a few pages are bad.
"""

from collections.abc import Callable
from typing import Any

import torch

from ocr.training.augment import paper, scan

Tensor = torch.Tensor
WORN_SHARE = 0.67

SHARES: dict[Callable[..., Any], float] = {
    paper.thickness: 0.25, paper.carbon: 0.06, paper.erosion: 0.05, paper.fading: 0.07,
    paper.background: 0.06, paper.ruled: 0.05, paper.texture: 0.08, paper.bleed_through: 0.16,
    scan.sharpen: 0.07, scan.lower_resolution: 0.22, scan.blur: 0.25, scan.motion: 0.06,
    scan.uneven_light: 0.22, scan.edge_shadow: 0.08, scan.tone: 0.22, scan.noise: 0.28,
    scan.salt_and_pepper: 0.07, scan.dropouts: 0.04, scan.fax: 0.16, scan.coarse_fax: 0.07, scan.jpeg: 0.35,
    scan.shades: 0.3,
}  # fmt: skip
"""The effects in the order they happen, and their shares of the worn pages."""


def allot(pages: int, strength: float) -> Tensor:
    """Returns [len(SHARES), pages] on the host: how much of each effect each page gets, 0 (most pages) to 1.

    strength: at 1 a third of the pages get nothing; below 1 more pages; above 1 fewer, and the others get more.
    """
    count, beyond = len(SHARES), max(1.0, strength)
    worn = torch.rand(pages) < WORN_SHARE * strength
    shares = torch.tensor(list(SHARES.values()))[:, None] * beyond**0.5
    chosen = (torch.rand(count, pages) < shares) & worn
    weights = (0.2 + torch.rand(count, pages)) * chosen
    budget = (0.4 + 1.8 * torch.rand(pages) ** 2) * beyond**0.5
    amounts: Tensor = (budget * weights / weights.sum(0).clamp(min=1e-6)).clamp(max=1.0)
    row = {effect: number for number, effect in enumerate(SHARES)}
    pale = amounts[row[scan.tone]] > 0.3
    # Fading faxes, too, would erase their text.
    thin = pale | (amounts[row[scan.fax]] > 0) | (amounts[row[scan.coarse_fax]] > 0)
    amounts[row[paper.fading]] *= torch.where(thin, 0.3, 1.0)
    # Shades barely hinder a reader, so they use no budget; on a pale page they would hinder.
    amounts[row[scan.shades]] = torch.rand(pages) * (chosen[row[scan.shades]] & ~pale)
    return amounts


@torch.no_grad()
def degrade(x: Tensor, strength: float = 1.0) -> Tensor:
    """Returns [B, 1, H, W] uint8 grey for the same (sides divisible by 8), a third clean at strength 1."""
    amounts = allot(x.shape[0], strength)
    y = x.to(torch.float32) / 255
    contrast = torch.ones(x.shape[0], 1, 1, 1, device=x.device)
    columns = [row.nonzero().flatten() for row in amounts]
    where = _upload(torch.cat(columns), x.device)
    how_much = _upload(torch.cat([row[c] for row, c in zip(amounts, columns, strict=True)]), x.device)
    start = 0
    for (effect, row), column in zip(zip(SHARES, amounts, strict=True), columns, strict=True):
        if not len(column):
            continue
        pages, amount = where[start:][: len(column)], how_much[start:][: len(column)].view(-1, 1, 1, 1)
        start += len(column)
        part = y[pages]
        if effect is scan.tone:
            y[pages], contrast[pages] = scan.tone(part, amount)
        else:
            y[pages] = _apply(effect, part, amount, contrast[pages], float(row[column].mean()))
    return y.clamp(0, 1).mul(255).round().to(torch.uint8)


@torch.no_grad()
def worn_darkness(pixels: Tensor, strength: float) -> Tensor:
    """Returns [P, 1, H, W] float32, 0 white to 1 black. pixels: [P, H, W] uint8 grey. strength: 0 wears nothing."""
    pages = pixels[:, None]
    return 1 - (degrade(pages, strength) if strength > 0 else pages).float() / 255


def _apply(effect: Callable[..., Any], x: Tensor, amount: Tensor, contrast: Tensor, mean: float) -> Tensor:
    """Returns the pages with the effect; mean is the mean amount, for effects that treat all their pages alike."""
    if effect is scan.lower_resolution:
        return scan.lower_resolution(x, 1 - 0.45 * mean)
    if effect is scan.noise:
        return scan.noise(x, amount, contrast).clamp(0, 1)
    if effect is scan.fax:
        return scan.fax(x, amount, min(1.0, 1.15 - 0.5 * mean))
    if effect is scan.jpeg:
        return scan.jpeg(x.clamp(0, 1), amount, contrast)
    worn: Tensor = effect(x, amount)
    return worn


def _upload(values: Tensor, device: torch.device) -> Tensor:
    """Returns the tensor on the device, without waiting for the device's work."""
    return values.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else values.to(device)

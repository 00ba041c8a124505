"""Cuts lines out of pages on the training device, many at once, as `ocr.line_reader.line_images` cuts one.

The places vary as a line finder errs, and the type is a little wider or narrower than it was set.
"""

from dataclasses import dataclass, fields

import torch
from torch import Tensor
from torch.nn import functional as F

from ocr.line_reader.line_images import (
    ABOVE,
    BELOW,
    HEIGHT_PX,
    LEAST_CONTRAST,
    MAX_HALVINGS,
    MAX_WIDTH_PX,
    QUANTILES,
    RANGE,
    WORTH_HALVING,
)

_BESIDE = (0.02, 0.5)  # paper at each end of a line, in type sizes
# What a finder takes for the type size, as a logarithm: mostly near it; of figures and capitals alone far too large.
_NEAR, _FAR, _NEAR_SHARE = (-0.13, 0.16), (0.1, 0.5), 0.7
_STRETCH = (-0.15, 0.12)  # across only, as a logarithm
_TILT, _SHIFT = 0.005, 0.05  # standard deviations: of the slope, and of the baseline in type sizes
_AT_ONCE = 128  # lines whose quantiles are found together: more would take much memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """Where N lines are cut, [N] each on the host, in pixels of the page but for width.

    step, across: the page's pixels per pixel of the line image, down and along. left: where the image begins. top: the
    image's upper edge at its left. tilt: how far it falls a pixel. width: the image's pixels, int64.
    """

    step: Tensor
    across: Tensor
    left: Tensor
    top: Tensor
    tilt: Tensor
    width: Tensor

    def __getitem__(self, chosen: Tensor) -> "Cuts":
        """Returns the cuts of some lines. chosen: [M] int64."""
        return Cuts(**{field.name: getattr(self, field.name)[chosen] for field in fields(self)})


def plan(places: Tensor, jitter: float) -> Cuts:
    """Returns where to cut lines. places: [N, 5] as DrawnPage has them. jitter: 0 cuts them as they are."""
    x0, x1, baseline, slope, size = places.unbind(1)
    seen = torch.where(torch.rand(len(x0)) < _NEAR_SHARE, _drawn(_NEAR, len(x0)), _drawn(_FAR, len(x0)))
    seen_size = size * torch.exp(seen * jitter)
    step = seen_size * (ABOVE + BELOW) / HEIGHT_PX
    across = step * torch.exp(_drawn(_STRETCH, len(x0)) * jitter)
    before, after = _drawn(_BESIDE, len(x0)) * size, _drawn(_BESIDE, len(x0)) * size
    half = (x1 - x0) / 2
    tilt = slope + torch.randn(len(x0)) * _TILT * jitter
    middle = baseline + slope * half - (ABOVE - BELOW) / 2 * seen_size
    middle = middle + torch.randn(len(x0)) * _SHIFT * size * jitter
    return Cuts(
        step=step,
        across=across,
        left=x0 - before,
        top=middle - HEIGHT_PX / 2 * step - tilt * (half + before),
        tilt=tilt,
        width=((2 * half + before + after) / across).ceil().clamp(max=MAX_WIDTH_PX).to(torch.int64),
    )


def _drawn(bounds: tuple[float, float], number: int) -> Tensor:
    return bounds[0] + (bounds[1] - bounds[0]) * torch.rand(number)


class Atlas:
    """Pages at full, half and quarter size, in one flat tensor. pages: [P, 1, H, W] darkness, 0 to 1."""

    def __init__(self, pages: Tensor) -> None:
        levels = [pages, *(F.avg_pool2d(pages, 2**n) for n in range(1, MAX_HALVINGS + 1))]
        self._flat = torch.cat([level.reshape(-1) for level in levels])
        self._start = torch.tensor([0, *(level.numel() for level in levels[:-1])]).cumsum(0)
        self._shapes = torch.tensor([list(level.shape[2:]) for level in levels])

    def cut(self, page: Tensor, cuts: Cuts, width_px: int) -> Tensor:
        """Returns [N, 1, HEIGHT_PX, width_px] normalised line images on the pages' device, 0 beyond each one's width.

        page: [N] the page of each line. width_px: at least the widest.
        """
        device = self._flat.device
        level = torch.log2(cuts.step.clamp(min=1) / WORTH_HALVING).floor().clamp(0, MAX_HALVINGS).long()
        factor = 2.0**level
        height, width = self._shapes[level].unbind(1)
        first = self._start[level] + page.long() * height * width
        values = [cuts.left / factor, cuts.across / factor, cuts.top / factor, cuts.step / factor]
        table = torch.stack([*values, cuts.tilt]).to(device, non_blocking=True)[:, :, None, None]
        whole = torch.stack([first, height, width]).to(device, non_blocking=True)[:, :, None, None]
        left, across, top, step, tilt = table
        column = torch.arange(width_px, device=device)[None, None] + 0.5
        row = torch.arange(HEIGHT_PX, device=device)[None, :, None] + 0.5
        x, y = left + across * column, top + step * row + tilt * across * column
        widths = cuts.width.to(device)
        images = self._sampled(x - 0.5, y - 0.5, whole) * _inside(widths, width_px)
        return normalised_lines(images, widths)[:, None]

    def _sampled(self, x: Tensor, y: Tensor, whole: Tensor) -> Tensor:
        """Returns the bilinear values at [N, HEIGHT_PX, W] points, the page's edge where they lie beyond it."""
        first, height, width = whole
        left, top = x.floor(), y.floor()
        right_share, lower_share = x - left, y - top
        left, top = left.long(), top.long()
        x0, x1 = ((left + n).clamp(min=0).minimum(width - 1) for n in (0, 1))
        y0, y1 = (first + (top + n).clamp(min=0).minimum(height - 1) * width for n in (0, 1))
        upper = torch.lerp(self._flat[y0 + x0], self._flat[y0 + x1], right_share)
        return torch.lerp(
            upper, torch.lerp(self._flat[y1 + x0], self._flat[y1 + x1], right_share), lower_share
        )


def normalised_lines(images: Tensor, widths: Tensor) -> Tensor:
    """Returns what `ocr.line_reader.line_images.normalised` makes of each image alone, 0 beyond its width.

    images: [N, H, W] darkness. widths: [N].
    """
    return torch.cat(
        [
            _normalised(*part)
            for part in zip(torch.split(images, _AT_ONCE), torch.split(widths, _AT_ONCE), strict=True)
        ]
    )


def _normalised(images: Tensor, widths: Tensor) -> Tensor:
    inside = _inside(widths, images.shape[2])
    sample = torch.where(inside, images, torch.nan)[:, ::2, ::2].flatten(1).float()
    shares = torch.tensor(QUANTILES, device=images.device)
    lightest, paper, middle, dark_paper, darkest = torch.nanquantile(sample, shares, dim=1)[:, :, None, None]
    inverted = middle - lightest > darkest - middle
    ground = torch.where(inverted, dark_paper, paper)
    ink = torch.where(inverted, lightest, darkest)
    contrast = torch.where(inverted, -1.0, 1.0) * (ink - ground).abs().clamp(min=LEAST_CONTRAST)
    return ((images - ground) / contrast).clamp(*RANGE) * inside


def _inside(widths: Tensor, width_px: int) -> Tensor:
    """Returns [N, 1, W] bool: which pixel columns are of the line."""
    return (torch.arange(width_px, device=widths.device)[None] < widths[:, None])[:, None]

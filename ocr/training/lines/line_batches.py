"""Batches of line images of like width, mixed from many pages, and cut out of these on the training device.

They are cut many at once, as `ocr.line_reader.line_images` cuts one; the places vary as a line finder errs, and the
type is a little wider or narrower than it was set.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields

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
from ocr.training.augment.degrade import worn_darkness
from ocr.training.lines.page_streams import LineBatch

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

    But for boxes with white letters within a line, of which none is made here. images: [N, H, W] darkness. widths: [N].
    """
    parts = zip(torch.split(images, _AT_ONCE), torch.split(widths, _AT_ONCE), strict=True)
    return torch.cat([_normalised(*part) for part in parts])


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


WIDTHS_PX = (96, 160, 256, 384, 512, 704, 960, 1280, 1664, MAX_WIDTH_PX)
_CUT_PX = 1_500_000  # pixels of width that are cut at once
_FEWEST, _MOST = 16, 768  # lines in a batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """N lines. images: [N, 1, HEIGHT_PX, W] float16 on the device. widths: [N] pixels on the host. labels: of each."""

    images: Tensor
    widths: Tensor
    labels: list[Tensor]

    def __getitem__(self, chosen: Tensor) -> "Lines":
        """Returns some of the lines. chosen: [M] int64 on the host."""
        return Lines(
            images=self.images[chosen.to(self.images.device)],
            widths=self.widths[chosen],
            labels=[self.labels[i] for i in chosen.tolist()],
        )


@torch.no_grad()
def cut_lines(
    batch: LineBatch, device: torch.device, strength: float, jitter: float = 1.0
) -> Iterator[Lines]:
    """Yields the lines of worn pages, those of a width (of WIDTHS_PX) together."""
    cuts = plan(batch.places, jitter)
    atlas = Atlas(worn_darkness(batch.pixels.to(device, non_blocking=True), strength))
    labels = torch.split(batch.labels.long(), batch.lengths.tolist())
    narrower = 0
    for width in WIDTHS_PX:
        chosen = ((cuts.width > narrower) & (cuts.width <= width)).nonzero().flatten()
        narrower = width
        for some in torch.split(chosen, max(_FEWEST, _CUT_PX // width)):
            if len(some):
                images = atlas.cut(batch.page[some], cuts[some], width).half()
                yield Lines(images=images, widths=cuts.width[some], labels=[labels[i] for i in some.tolist()])


@dataclass(slots=True, kw_only=True)
class LineShelves:
    """Lines kept by width until there are enough to mix.

    fetch: returns the lines of some more pages. batch_px: pixels of width in a batch.
    """

    fetch: Callable[[], Iterator[Lines]]
    batch_px: int
    _shelves: dict[int, list[Lines]] = field(default_factory=dict)
    _ready: deque[Lines] = field(default_factory=deque)

    def draw(self) -> Lines:
        """Returns the next batch: from twice as many lines as it holds, chosen at random."""
        while not self._ready:
            for lines in self.fetch():
                self._put(lines)
        return self._ready.popleft()

    def _put(self, lines: Lines) -> None:
        width = lines.images.shape[3]
        shelf = self._shelves.setdefault(width, [])
        shelf.append(lines)
        count = min(_MOST, max(_FEWEST, self.batch_px // width))
        if sum(len(some.labels) for some in shelf) >= 2 * count:
            mixed = joined(shelf)
            order = torch.randperm(len(mixed.labels))
            self._ready.append(mixed[order[:count]])
            shelf[:] = [mixed[order[count:]]]


def joined(parts: list[Lines]) -> Lines:
    """Returns lines of one width as one."""
    return Lines(
        images=torch.cat([part.images for part in parts]),
        widths=torch.cat([part.widths for part in parts]),
        labels=[label for part in parts for label in part.labels],
    )

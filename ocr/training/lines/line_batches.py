"""Batches of line images of like width, mixed from many pages."""

import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ocr.line_reader.line_images import MAX_WIDTH_PX
from ocr.training.lines.line_cuts import Atlas, plan
from ocr.training.lines.page_streams import LineBatch
from ocr.training.lines.worn_pages import worn_darkness

WIDTHS_PX = (96, 160, 256, 384, 512, 704, 960, 1280, 1664, MAX_WIDTH_PX)
_CUT_PX = 1_500_000  # pixels of width that are cut at once
_FEWEST, _MOST = 16, 768  # lines in a batch
_KEPT = 24  # batches that may be given again


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

    fetch: returns the lines of some more pages. batch_px: pixels of width in a batch. again: how often one of the last
    batches is given in place of a new one, for a network so small that cutting lines takes longer than learning them.
    """

    fetch: Callable[[], Iterator[Lines]]
    batch_px: int
    again: float = 0.0
    _shelves: dict[int, list[Lines]] = field(default_factory=dict)
    _ready: deque[Lines] = field(default_factory=deque)
    _given: deque[Lines] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def draw(self) -> Lines:
        """Returns the next batch: from twice as many lines as it holds, chosen at random."""
        if random.random() < self.again and self._given:
            return random.choice(self._given)
        while not self._ready:
            for lines in self.fetch():
                self._put(lines)
        self._given.append(self._ready.popleft())
        return self._given[-1]

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

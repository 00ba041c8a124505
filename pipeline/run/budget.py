"""Limits how far rendering may run ahead of the model: a budget of bytes, for use in the event loop's thread."""

import asyncio
import time
from collections import deque
from dataclasses import dataclass

from ocr.imaging.tiling import MODES, TILE_PX
from pipeline.documents.settings import MAX_GREY_PX, MAX_INK_PX, TileSettings


def heaviest_page_bytes(settings: TileSettings) -> int:
    """Returns the most bytes that the pixels of one page can take."""
    if settings.lines:
        return MAX_GREY_PX
    return _heaviest_views_bytes(settings) + (MAX_INK_PX if settings.words == "lines" else 0)


def _heaviest_views_bytes(settings: TileSettings) -> int:
    if settings.views is not None:
        return 3 * max(settings.views.most_px, 0 if settings.video is None else settings.video.most_px)
    spec = MODES[settings.mode]
    if not spec.crop:
        return 3 * spec.base_px**2
    return 3 * (spec.base_px**2 + settings.max_tiles * TILE_PX**2)


class Budget:
    """Counts the bytes held by pages in flight and lets others wait for room, first come first served.

    A page may weigh anything from 0.8 to 16 MB: a page in a worker counts as
    the heaviest possible one, a rendered page as its actual size.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.held_bytes = 0
        self.waited_s = 0.0
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()

    async def take(self, num_bytes: int) -> None:
        """Takes bytes once there is room. With nothing held there always is, so that an oversized page gets through."""
        if not self._waiting and self._has_room(num_bytes):
            self.held_bytes += num_bytes
            return
        started = time.monotonic()
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((turn, num_bytes))
        try:
            await turn
        except asyncio.CancelledError:  # give back what was granted, or let the next one try
            self.add(0 if turn.cancelled() else -num_bytes)
            raise
        self.waited_s += time.monotonic() - started

    def allow(self, max_bytes: int) -> None:
        """Sets how many bytes may be held from now on."""
        self._max_bytes = max_bytes
        self.add(0)

    def add(self, num_bytes: int) -> None:
        """Takes bytes without waiting, or gives them back where num_bytes is negative."""
        self.held_bytes += num_bytes
        while self._waiting and (self._waiting[0][0].done() or self._has_room(self._waiting[0][1])):
            turn, wanted = self._waiting.popleft()
            if not turn.done():
                self.held_bytes += wanted
                turn.set_result(None)

    def _has_room(self, num_bytes: int) -> bool:
        return self.held_bytes == 0 or self.held_bytes + num_bytes <= self._max_bytes


@dataclass(slots=True)
class Share:
    """One page's share of a budget. held_bytes: already taken for it. least_bytes: kept until the page is done."""

    budget: Budget
    held_bytes: int
    least_bytes: int = 0

    def change_to(self, num_bytes: int) -> None:
        """Resizes the share; a larger one is taken without waiting."""
        self.budget.add(num_bytes - self.held_bytes)
        self.held_bytes = num_bytes

    def give_back(self, num_bytes: int | None) -> None:
        """Gives back some of the share, all where that is None, but keeps least_bytes."""
        left_bytes = 0 if num_bytes is None else self.held_bytes - num_bytes
        self.change_to(max(min(self.held_bytes, self.least_bytes), left_bytes))

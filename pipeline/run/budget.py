"""How far rendering may be ahead of the model: a budget of bytes, for the event loop's thread."""

import asyncio
import time
from collections import deque

from ocr.imaging.tiling import MODES, TILE_PX
from ocr.layout.crops import MAX_PARTS, MAX_TILES
from pipeline.documents.settings import TileSettings


def heaviest_page_bytes(settings: TileSettings) -> int:
    """Returns the size of the largest views a page can have, those of all its parts together."""
    spec = MODES[settings.mode]
    if not spec.crop:
        return 3 * spec.base_px**2
    if settings.parts:
        return 3 * (MAX_PARTS * spec.base_px**2 + max(MAX_TILES, settings.max_tiles) * TILE_PX**2)
    return 3 * (spec.base_px**2 + settings.max_tiles * TILE_PX**2)


class Budget:
    """Bytes that are held, and who waits for room, in order.

    A page may weigh anything from 0.8 to 16 MB, and one in parts several times as much: a page in a worker counts as
    the heaviest one possible, a rendered page as what it is.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.held_bytes = 0
        self.waited_s = 0.0
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()

    async def take(self, num_bytes: int) -> None:
        """Waits until there is room. Where nothing is held there always is, or nothing would ever move."""
        if not self._waiting and self._has_room(num_bytes):
            self.held_bytes += num_bytes
            return
        started = time.monotonic()
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((turn, num_bytes))
        try:
            await turn
        except asyncio.CancelledError:  # its turn may have come; if not, whoever is behind it may fit
            self.add(0 if turn.cancelled() else -num_bytes)
            raise
        self.waited_s += time.monotonic() - started

    def allow(self, max_bytes: int) -> None:
        """So many bytes may be held from now on."""
        self._max_bytes = max_bytes
        self.add(0)

    def add(self, num_bytes: int) -> None:
        """Takes without waiting, or gives back where num_bytes is negative."""
        self.held_bytes += num_bytes
        while self._waiting and (self._waiting[0][0].done() or self._has_room(self._waiting[0][1])):
            turn, wanted = self._waiting.popleft()
            if not turn.done():
                self.held_bytes += wanted
                turn.set_result(None)

    def _has_room(self, num_bytes: int) -> bool:
        return self.held_bytes == 0 or self.held_bytes + num_bytes <= self._max_bytes


class Share:
    """What one page holds of a budget, which was taken for it before. least_bytes: what it keeps until its end."""

    def __init__(self, budget: Budget, num_bytes: int, least_bytes: int = 0) -> None:
        self._budget = budget
        self._held_bytes = num_bytes
        self._least_bytes = least_bytes

    def change_to(self, num_bytes: int) -> None:
        """More is taken without waiting."""
        self._budget.add(num_bytes - self._held_bytes)
        self._held_bytes = num_bytes

    def give_back(self, num_bytes: int) -> None:
        """A part of it."""
        self.change_to(max(min(self._held_bytes, self._least_bytes), self._held_bytes - num_bytes))

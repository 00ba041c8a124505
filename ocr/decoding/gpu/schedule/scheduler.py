"""Which page has which row and which blocks. Host side only; the device learns it from the plan."""

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from ocr.decoding.gpu.forward.block_pool import BlockPool
from ocr.decoding.gpu.forward.steps import DeviceSteps
from ocr.decoding.gpu.schedule.entries import Page

_ENDLESS = np.iinfo(np.int32).max


class Seats:
    """The rows of a DeviceSteps and the pages in them. taken_off: called with a page that lost its row to others.

    A page's length stands in the plan itself, so that a step costs the same for one page as for hundreds. pages: those
    being read, by row. rows: [len(pages)] theirs. top: the rows that a step must run with. num_free: rows without one.
    """

    def __init__(self, steps: DeviceSteps, taken_off: Callable[[Page], None]) -> None:
        self._steps = steps
        self._pool: BlockPool = steps.pool
        self._taken_off = taken_off
        self._rows: list[Page | None] = [None] * steps.slots
        self._seated = 0
        # By row: tokens that the page's blocks hold, and by how many a step makes it longer.
        self._room = np.full(steps.slots, _ENDLESS, np.int32)
        self._growth = np.zeros(steps.slots, np.int32)
        self._compact = False
        self._note()

    def _note(self) -> None:
        """After pages came or went."""
        self.pages: list[Page] = [page for page in self._rows if page is not None]
        self.rows: npt.NDArray[np.int64] = np.array(rows_of(self.pages), np.int64)
        self.top = int(self.rows[-1]) + 1 if self.pages else 0
        self.num_free = len(self._rows) - len(self.pages)
        self._compact = False

    def take(self, page: Page) -> bool:
        """Gives the page a free row and blocks for what it has and one token more, if there are so many blocks.

        Every page being read may want a block soon, so that as many are left.
        """
        wanted = self._pool.shape.blocks(page.num_tokens + 1)
        if self._pool.num_free < wanted + len(self.pages):
            return False
        page.blocks = self._pool.take(wanted) or []
        self._place(page, self._rows.index(None), page.num_tokens)
        self._seated += 1
        page.order = self._seated
        self._note()
        return True

    def free(self, page: Page) -> None:
        """Takes back row and blocks. What is under way for the page counts no more."""
        assert page.row is not None
        self._clear(page.row)
        self._pool.give_back(page.blocks)
        page.row, page.blocks, page.plan = None, [], np.zeros(1, np.int32)
        page.generation += 1
        self._note()

    def grow(self) -> None:
        """A block for every page whose next token needs one; the youngest pages make room where there is none."""
        needy = np.flatnonzero(self._steps.plan[: self.top, 0] >= self._room[: self.top])
        if not len(needy):
            return
        pages = [page for row in needy.tolist() if (page := self._rows[row]) is not None]
        for page in sorted(pages, key=_order):
            while page.row is not None and len(page.blocks) < self._pool.shape.blocks(page.length + 1):
                if (blocks := self._pool.take(1)) is not None:
                    page.blocks += blocks
                    self._write(page)
                    continue
                youngest = max(self.pages, key=_order)
                self.free(youngest)
                self._taken_off(youngest)

    def stretch(self, page: Page, tokens: int) -> int:
        """Blocks for that many tokens of the next step where they are not wanted more; how many there is room for."""
        pool, length = self._pool, page.length
        wanted = pool.shape.blocks(length + tokens) - len(page.blocks)
        if wanted > 0 and pool.num_free >= wanted + len(self.pages):
            page.blocks += pool.take(wanted) or []
            self._write(page)
        return min(tokens, len(page.blocks) * pool.shape.block_tokens - length)

    def compact(self) -> None:
        """Moves the last pages to free rows where that makes a smaller step."""
        if self._compact:
            return
        self._compact = True
        pages = self.pages
        count = len(pages)
        if count == 0 or self._steps.bucket(count) >= self._steps.bucket(self.top):
            return
        late = [page for page in pages if page.row is not None and page.row >= count]
        targets = [row for row in range(count) if self._rows[row] is None]
        sources = rows_of(late)
        self._steps.move(sources, targets)
        for page, source, target in zip(late, sources, targets, strict=True):
            length = page.length
            self._clear(source)
            self._place(page, target, length)
        self._note()

    def stepped(self) -> None:
        """After a step that fed each page a token: all are longer by one."""
        self._steps.plan[: self.top, 0] += self._growth[: self.top]

    def _place(self, page: Page, row: int, length: int) -> None:
        self._rows[row], page.row, page.plan = page, row, self._steps.plan[row]
        self._growth[row] = 1
        page.length = length
        self._write(page)

    def _clear(self, row: int) -> None:
        self._rows[row] = None
        self._steps.plan[row] = 0
        self._room[row], self._growth[row] = _ENDLESS, 0

    def _write(self, page: Page) -> None:
        table = page.plan[1:]
        table[:] = 0
        table[: len(page.blocks)] = page.blocks
        self._room[page.row] = len(page.blocks) * self._pool.shape.block_tokens


def _order(page: Page) -> int:
    return page.order


def rows_of(pages: Iterable[Page]) -> list[int]:
    """The rows of pages that have one."""
    return [page.row for page in pages if page.row is not None]

"""Schedules sequences: decides which page has which row and blocks. On the host; the device gets it as the plan."""

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from ocr.decoding.gpu.forward.block_pool import BlockPool
from ocr.decoding.gpu.forward.steps import DeviceSteps
from ocr.decoding.gpu.schedule.entries import Page

_ENDLESS = np.iinfo(np.int32).max


class Scheduler:
    """Assigns the rows of a DeviceSteps to pages. preempted: called with a page that lost its row to others.

    A page's length is kept in the plan itself, so that a step costs the same for one page as for hundreds. pages: those
    being read, by row. rows: [len(pages)], their rows. top: the rows that a step must run with. num_free: free rows.
    """

    def __init__(self, steps: DeviceSteps, preempted: Callable[[Page], None]) -> None:
        self._steps = steps
        self._pool: BlockPool = steps.pool
        self._preempted = preempted
        self._rows: list[Page | None] = [None] * steps.slots
        self._num_admitted = 0
        # By row: the tokens that the page's blocks hold, and the tokens that a step adds.
        self._room = np.full(steps.slots, _ENDLESS, np.int32)
        self._growth = np.zeros(steps.slots, np.int32)
        self._compact = False
        self._note()

    def _note(self) -> None:
        """Updates pages, rows, top and num_free after pages came or went."""
        self.pages: list[Page] = [page for page in self._rows if page is not None]
        self.rows: npt.NDArray[np.int64] = np.array(rows_of(self.pages), np.int64)
        self.top = int(self.rows[-1]) + 1 if self.pages else 0
        self.num_free = len(self._rows) - len(self.pages)
        self._compact = False

    def take(self, page: Page) -> bool:
        """Gives the page a free row and blocks for its tokens and one more; returns False where blocks do not suffice.

        Every page being read may need a block soon, so that one for each is kept free, unless one holds a whole page.
        """
        wanted = self._pool.shape.blocks(page.num_tokens + 1)
        soon = len(self.pages) if self._steps.max_blocks > 1 else 0
        if self._pool.num_free < wanted + soon:
            return False
        page.blocks = self._pool.take(wanted) or []
        self._place(page, self._rows.index(None), page.num_tokens)
        self._num_admitted += 1
        page.order = self._num_admitted
        self._note()
        return True

    def free(self, page: Page) -> None:
        """Frees the page's row and blocks; results in flight for it are discarded."""
        assert page.row is not None
        self._clear(page.row)
        self._pool.give_back(page.blocks)
        page.row, page.blocks, page.plan = None, [], np.zeros(1, np.int32)
        page.generation += 1
        self._note()

    def grow(self) -> None:
        """Gives a block to every page whose next token needs one; preempts the youngest pages where there is none."""
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
                self._preempted(youngest)

    def compact(self) -> None:
        """Moves the last pages to free rows where that makes the step smaller."""
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
        """Lengthens all pages by the token that a step has fed to each."""
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
    """Returns the rows of those pages that have one."""
    return [page.row for page in pages if page.row is not None]

"""Which page has which row and which blocks. Host side only; the device learns it from the plan."""

from collections.abc import Callable, Iterable

from ocr.paged.pool import BlockPool
from ocr.paged.steps import DeviceSteps
from ocr.paged.types import Page


class Seats:
    """The rows of a DeviceSteps and the pages in them. taken_off: called with a page that lost its row to others."""

    def __init__(self, steps: DeviceSteps, taken_off: Callable[[Page], None]) -> None:
        self._steps = steps
        self._pool: BlockPool = steps.pool
        self._taken_off = taken_off
        self._rows: list[Page | None] = [None] * steps.slots
        self._seated = 0

    @property
    def pages(self) -> list[Page]:
        """Those being read, by row."""
        return [page for page in self._rows if page is not None]

    @property
    def num_free(self) -> int:
        return self._rows.count(None)

    @property
    def top(self) -> int:
        """The rows that a step must run with."""
        return max((row + 1 for row, page in enumerate(self._rows) if page is not None), default=0)

    def take(self, page: Page) -> bool:
        """Gives the page a free row and blocks for what it has and one token more, if there are so many blocks.

        Every page being read may want a block soon, so that as many are left.
        """
        wanted = self._pool.shape.blocks(page.num_tokens + 1)
        if self._pool.num_free < wanted + len(self.pages):
            return False
        page.blocks = self._pool.take(wanted) or []
        page.row = self._rows.index(None)
        page.length = page.num_tokens
        self._rows[page.row] = page
        self._seated += 1
        page.order = self._seated
        self._write(page)
        return True

    def free(self, page: Page) -> None:
        """Takes back row and blocks. What is under way for the page counts no more."""
        assert page.row is not None
        self._rows[page.row] = None
        self._steps.plan[page.row] = 0
        self._pool.give_back(page.blocks)
        page.row, page.blocks = None, []
        page.generation += 1

    def grow(self) -> None:
        """A block for every page whose next token needs one; the youngest pages make room where there is none."""
        block_tokens = self._pool.shape.block_tokens
        needy = [page for page in self.pages if page.length >= len(page.blocks) * block_tokens]
        for page in sorted(needy, key=_order):
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
        pool = self._pool
        wanted = pool.shape.blocks(page.length + tokens) - len(page.blocks)
        if wanted > 0 and pool.num_free >= wanted + len(self.pages):
            page.blocks += pool.take(wanted) or []
            self._write(page)
        return min(tokens, len(page.blocks) * pool.shape.block_tokens - page.length)

    def compact(self) -> None:
        """Moves the last pages to free rows where that makes a smaller step."""
        pages = self.pages
        count = len(pages)
        if count == 0 or self._steps.bucket(count) >= self._steps.bucket(self.top):
            return
        late = [page for page in pages if page.row is not None and page.row >= count]
        targets = [row for row in range(count) if self._rows[row] is None]
        sources = [page.row for page in late if page.row is not None]
        self._steps.move(sources, targets)
        for page, source, target in zip(late, sources, targets, strict=True):
            self._rows[source], self._rows[target], page.row = None, page, target
            self._steps.plan[source] = 0
            self._write(page)

    def plan_step(self) -> None:
        """Every page's length into the plan of the step to come."""
        pages = self.pages
        self._steps.plan[rows_of(pages), 0] = [page.length for page in pages]

    def _write(self, page: Page) -> None:
        table = self._steps.plan[page.row, 1:]
        table[:] = 0
        table[: len(page.blocks)] = page.blocks


def _order(page: Page) -> int:
    return page.order


def rows_of(pages: Iterable[Page]) -> list[int]:
    """The rows of pages that have one."""
    return [page.row for page in pages if page.row is not None]

"""How a page is cut into parts. Torch-free."""

from dataclasses import dataclass, replace

from ocr.imaging.tiling import MODES, TILE_PX, Grid

Box = tuple[int, int, int, int]
# Of a page at most; of all parts together so many tiles, which bounds the memory that a page takes.
MAX_PARTS, MAX_TILES = 16, 48


def canvas_px(grid: Grid) -> tuple[int, int]:
    """Returns (width, height) of the finest view of a grid: its tiles, or the whole view where it has none."""
    if grid == (1, 1):
        return MODES["gundam"].base_px, MODES["gundam"].base_px
    return TILE_PX * grid[0], TILE_PX * grid[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a page, to be read like a page of its own.

    box_px: (x0, y0, x1, y1), what of the page it shows. frame_px: the little page it is laid on, in page pixels
    too; around the box it is blank, and it may reach beyond the page. grid: (columns, rows) of its tiles.
    paragraph_break: whether its text is set off from the part before it, rather than going on from there.
    within: the number of the larger part, from 0, that this one is a piece of; None for a part of the page.
    """

    box_px: Box
    frame_px: Box
    grid: Grid
    paragraph_break: bool
    within: int | None = None

    @property
    def num_tiles(self) -> int:
        return 0 if self.grid == (1, 1) else self.grid[0] * self.grid[1]

    @property
    def scale(self) -> float:
        """Pixels of the finest view to a pixel of the page."""
        return canvas_px(self.grid)[0] / (self.frame_px[2] - self.frame_px[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class PartPlan:
    """A page's parts in reading order; none for a page that is read whole.

    angle_deg: how far the page is to be turned about its middle, counterclockwise, before it is cut; boxes are
    those of the turned page, which keeps its size. 0 for a page that is read whole.
    size_px: the page's (width, height).
    shows_print: whether there is ink of the size and rhythm of writing, as on no sheet that is blank, whatever stains
    and pictures are on it.
    num_letters: how many letters and figures are on a page that has large type alone; None where nobody can count them.
    """

    parts: tuple[Part, ...] = ()
    angle_deg: float = 0.0
    size_px: tuple[int, int] = (0, 0)
    shows_print: bool = False
    num_letters: int | None = None

    def scaled(self, width_px: int, height_px: int) -> "PartPlan":
        """Returns the same plan of the page at another resolution."""
        if not self.parts:
            return self
        across, down = width_px / self.size_px[0], height_px / self.size_px[1]

        def box(old: Box) -> Box:
            return round(old[0] * across), round(old[1] * down), round(old[2] * across), round(old[3] * down)

        parts = tuple(
            replace(part, box_px=box(part.box_px), frame_px=box(part.frame_px)) for part in self.parts
        )
        return replace(self, parts=parts, size_px=(width_px, height_px))

"""Types for a page that is cut into crops. Torch-free."""

from dataclasses import dataclass, replace

from ocr.imaging.tiling import MODES, TILE_PX, Grid

Box = tuple[int, int, int, int]
# The most crops of a page, and the most tiles of all its crops together, which bounds the memory that a page takes.
MAX_CROPS, MAX_TILES = 16, 48


def canvas_px(grid: Grid) -> tuple[int, int]:
    """Returns (width, height) of the finest view of a grid: its tiles, or the whole view where it has none."""
    if grid == (1, 1):
        return MODES["gundam"].base_px, MODES["gundam"].base_px
    return TILE_PX * grid[0], TILE_PX * grid[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Crop:
    """A part of a page that is read like a page of its own.

    box_px: (x0, y0, x1, y1), the area of the page that it shows. frame_px: the canvas that the crop is laid on, in page
    pixels too; it is blank around the box and may reach beyond the page. grid: (columns, rows) of its tiles.
    paragraph_break: whether its text starts a new paragraph, rather than going on from the crop before it.
    within: the number of the larger crop, from 0, that this one was cut from; None for a crop of the page.
    """

    box_px: Box
    frame_px: Box
    grid: Grid
    paragraph_break: bool
    within: int | None = None

    @property
    def num_tiles(self) -> int:
        """The number of its tiles; 0 where it has the whole view alone."""
        return 0 if self.grid == (1, 1) else self.grid[0] * self.grid[1]

    @property
    def scale(self) -> float:
        """The pixels of the finest view per pixel of the page."""
        return canvas_px(self.grid)[0] / (self.frame_px[2] - self.frame_px[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class CropPlan:
    """The crops of a page, in reading order; none for a page that is read whole.

    angle_deg: the angle by which the page is turned about its middle, counterclockwise, before it is cut; boxes refer
    to the turned page, which keeps its size. 0 for a page that is read whole.
    size_px: the page's (width, height).
    shows_print: whether there is ink of the size and rhythm of writing, which no blank sheet has, whatever stains
    and pictures are on it.
    num_letters: the number of letters and figures on a page that has large type alone; None where they cannot be
    counted.
    """

    crops: tuple[Crop, ...] = ()
    angle_deg: float = 0.0
    size_px: tuple[int, int] = (0, 0)
    shows_print: bool = False
    num_letters: int | None = None

    def scaled(self, width_px: int, height_px: int) -> "CropPlan":
        """Returns the same plan of the page at another resolution."""
        if not self.crops:
            return self
        across, down = width_px / self.size_px[0], height_px / self.size_px[1]

        def box(old: Box) -> Box:
            return round(old[0] * across), round(old[1] * down), round(old[2] * across), round(old[3] * down)

        crops = tuple(
            replace(crop, box_px=box(crop.box_px), frame_px=box(crop.frame_px)) for crop in self.crops
        )
        return replace(self, crops=crops, size_px=(width_px, height_px))

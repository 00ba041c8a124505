"""Page views, as tiling hands them to the encoder: pixels only, no torch, so render workers start fast."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

UInt8Array = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageViews:
    """The views of one page.

    global_view: [3, S, S] uint8 RGB, the whole page padded to a square.
    local_views: [N, 3, 640, 640] uint8 RGB, row-major tiles; N is 0 for an untiled page.
    grid: (columns, rows) of the tiles; (1, 1) for an untiled page.
    """

    global_view: UInt8Array
    local_views: UInt8Array
    grid: tuple[int, int]

    @classmethod
    def none(cls, grid: tuple[int, int] = (1, 1)) -> "PageViews":
        """Returns views without pixels."""
        empty = np.empty(0, np.uint8)
        return cls(global_view=empty.reshape(0, 0, 0), local_views=empty.reshape(0, 3, 0, 0), grid=grid)

    @property
    def num_tiles(self) -> int:
        return int(self.local_views.shape[0])

    @property
    def num_bytes(self) -> int:
        return int(self.global_view.nbytes + self.local_views.nbytes)

"""Page views, as tiling hands them to the encoder: pixels only, no torch, so render workers start fast."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

UInt8Array = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageViews:
    """The views of one page, in the sizes that its model family makes; none by default.

    global_view: [3, H, W] uint8 RGB, the whole page. DeepSeek-OCR: padded to a square. Empty, [3, 0, 0], for a video.
    local_views: [N, 3, h, w] uint8 RGB. DeepSeek-OCR: row-major tiles of 640 px; MiniCPM-V: slices in rows. N is 0 for
        a page without; a video: its frames, of one size.
    grid: (columns, rows) of the tiles or slices; (1, 1) for a page without.
    """

    global_view: UInt8Array = field(default_factory=lambda: np.empty((0, 0, 0), np.uint8))
    local_views: UInt8Array = field(default_factory=lambda: np.empty((0, 3, 0, 0), np.uint8))
    grid: tuple[int, int] = (1, 1)

    @property
    def num_tiles(self) -> int:
        return int(self.local_views.shape[0])

"""Cuts a page's pixels into a source image and slices, as MiniCPM-V does in all versions. Torch-free.

Source: openbmb/MiniCPM-V-2_6 and MiniCPM-V-4_5 (image_processing_minicpmv.py), which 2.5 and 4.0 agree with; LLaVA-UHD
(Guo et al. 2024). Frames of a video are never cut into slices, as in published examples of 4.5 and of long videos.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.video_timing import FrameViews
from encoders.views import PageViews, UInt8Array
from ocr.families.minicpm.versions import section, whole_number
from ocr.imaging.planes import is_grey, planes_of, resized

Size = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlicingRule:
    """How pages are cut. It is itself what makes a page's views.

    max_slices: most of a page, besides its source image. slice_px: side of the square whose area a slice has, nearly.
    patch_px: that sides of all views are multiples of. Sizes are (width, height) in pixels, grids (columns, rows).
    """

    max_slices: int = 9
    slice_px: int = 448
    patch_px: int = 14

    @classmethod
    def from_json(cls, config: Mapping[str, Any]) -> "SlicingRule":
        """Returns the rule in a config.json. Raises: CheckpointError for values that make no sense."""
        values = section(config, "slice_config")
        return cls(
            max_slices=whole_number(values, "max_slice_nums", cls().max_slices if values else 1),
            slice_px=whole_number(values, "scale_resolution", cls().slice_px),
            patch_px=whole_number(values, "patch_size", cls().patch_px),
        )

    @property
    def most_px(self) -> int:
        """The pixels of a page beyond which its views show no more of it."""
        return self.max_slices * self.slice_px**2

    def __call__(self, pixels: UInt8Array, /) -> PageViews:
        """Returns a page's views, [H, W, 3] uint8 RGB: the source image, and slices in rows if it has any."""
        # One of three equal channels is resized, and repeated: the same pixels in a third of the time.
        planes = planes_of(pixels[..., 0] if is_grey(pixels) else pixels)
        size = pixels.shape[1], pixels.shape[0]
        grid = self.grid(size)
        source = resized(planes, *self.fitted(size))
        if grid is None:
            none = np.empty((0, 3, 0, 0), np.uint8)
            return PageViews(global_view=_in_colour(source), local_views=none, grid=(1, 1))
        whole = resized(planes, *self.refined(size, grid))
        return PageViews(global_view=_in_colour(source), local_views=_in_colour(_cut(whole, grid)), grid=grid)

    def frames(self, frames: UInt8Array, groups: Sequence[Sequence[int]] = ()) -> FrameViews:
        """Returns the views of a video's frames [N, H, W, 3] uint8 RGB; groups: as FrameViews has them."""
        width, height = self.fitted((frames.shape[2], frames.shape[1]))
        views = [_in_colour(resized(planes_of(frame), width, height)) for frame in frames]
        return FrameViews(
            global_view=np.empty((3, 0, 0), np.uint8),
            local_views=np.stack(views) if views else np.empty((0, 3, height, width), np.uint8),
            grid=(1, 1),
            groups=tuple(tuple(group) for group in groups),
        )

    def grid(self, size: Size) -> Size | None:
        """Returns the grid of a page's slices: of nearly as many as its pixels fill, the one nearest its aspect.

        The first of equally near ones. None for a page without slices.
        """
        width, height = size
        wanted = min(math.ceil(width * height / self.slice_px**2), self.max_slices)
        if wanted <= 1:
            return None
        counts = [count for count in (wanted - 1, wanted, wanted + 1) if 1 < count <= self.max_slices]
        grids = [
            (columns, count // columns)
            for count in counts
            for columns in range(1, count + 1)
            if count % columns == 0
        ]
        aspect = math.log(width / height)
        return min(grids, key=lambda grid: abs(aspect - math.log(grid[0] / grid[1])))

    def fitted(self, size: tuple[float, float]) -> Size:
        """Returns the size nearest to `size` in aspect, of slice_px^2 pixels, whose sides are multiples of patch_px.

        Published code would keep a page with slices at its size if that were smaller; then it has no slices.
        """
        aspect = size[0] / size[1]
        height = int(self.slice_px / math.sqrt(aspect))
        return _nearest(int(height * aspect), self.patch_px), _nearest(height, self.patch_px)

    def refined(self, size: Size, grid: Size) -> Size:
        """Returns the size that a page is resized to before it is cut into the grid."""
        (width, height), (columns, rows) = size, grid
        slice_size = _nearest(width, columns) / columns, _nearest(height, rows) / rows
        slice_width, slice_height = self.fitted(slice_size)
        return slice_width * columns, slice_height * rows


def _nearest(length: float, step: int) -> int:
    """Returns the positive multiple of step nearest to a length."""
    return max(round(length / step) * step, step)


def _cut(planes: UInt8Array, grid: Size) -> UInt8Array:
    """Returns the slices of channels [C, H, W] in rows: [N, C, h, w]."""
    columns, rows = grid
    channels, height, width = planes.shape
    cells = planes.reshape(channels, rows, height // rows, columns, width // columns)
    slices: UInt8Array = cells.transpose(1, 3, 0, 2, 4).reshape(
        rows * columns, channels, height // rows, width // columns
    )
    return slices


def _in_colour(channels: UInt8Array) -> UInt8Array:
    """Returns three contiguous channels made of one; three as they are. channels: [..., C, H, W]."""
    return channels if channels.shape[-3] == 3 else np.repeat(channels, 3, axis=-3)

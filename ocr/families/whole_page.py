"""The views of models that take a page as one picture of any size. Torch-free."""

import math
from dataclasses import dataclass

import numpy as np
from PIL import Image

from encoders.views import PageViews, UInt8Array
from ocr.imaging.planes import picture_of


@dataclass(frozen=True, slots=True, kw_only=True)
class WholePage:
    """Makes one view of a page, [3, H, W], reduced to most_px pixels; the model's own processor does the rest."""

    most_px: int

    def __call__(self, pixels: UInt8Array, /) -> PageViews:
        """Returns the view of a page, [H, W, 3] uint8 RGB."""
        picture = picture_of(pixels)
        factor = math.sqrt(self.most_px / (picture.width * picture.height))
        if factor < 1:
            size = max(1, int(picture.width * factor)), max(1, int(picture.height * factor))
            picture = picture.resize(size, Image.Resampling.LANCZOS)
        view = np.ascontiguousarray(np.asarray(picture.convert("RGB")).transpose(2, 0, 1))
        return PageViews(global_view=view, local_views=PageViews.none().local_views, grid=(1, 1))

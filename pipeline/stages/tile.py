"""Stage tile: cuts a page's pixels into the encoder's views, or makes them grey for the line reader.

Runs in workers; never imports torch.
"""

import math
import time

import numpy as np
from PIL import Image

from encoders.views import PageViews, UInt8Array
from ocr.imaging.colour import colour_contrast
from ocr.imaging.planes import picture_of
from ocr.imaging.tiling import views
from pipeline.documents.settings import MAX_GREY_PX, MAX_INK_PX, TileSettings
from pipeline.stages.render import PageImage
from pipeline.types import RenderedPage, facts_of


def tile(image: PageImage, settings: TileSettings) -> RenderedPage:
    """Returns a page with its views."""
    start = time.perf_counter()
    colour = None
    if settings.lines:
        page_views, grey = PageViews.none(), None if image.blank else _grey(image.pixels, MAX_GREY_PX)
        colour = None if image.blank else colour_contrast(image.pixels)
    elif image.frames is not None and settings.video is not None:
        page_views, grey = settings.video(image.frames, image.timing), None
    elif settings.views is not None:
        page_views, grey = settings.views(image.pixels), None
    else:
        page_views, grey = views(image.pixels, settings.mode, settings.max_tiles, image.grid), None
    wants_words = (
        settings.words == "lines" and not settings.lines and not image.blank and image.frames is None
    )
    return RenderedPage(
        **facts_of(image),
        views=page_views,
        blank=image.blank,
        seconds={"render": image.render_s, "tile": time.perf_counter() - start},
        text_layer=image.text_layer,
        grey=grey,
        colour=None if colour is None else _reduced(Image.fromarray(colour), MAX_GREY_PX),
        ink=_grey(image.pixels, MAX_INK_PX) if wants_words else None,
    )


def _grey(pixels: UInt8Array, most_px: int) -> UInt8Array:
    """Returns a page [H, W, 3] as [H, W], reduced where it has more pixels than the line reader needs."""
    return _reduced(picture_of(pixels).convert("L"), most_px)


def _reduced(grey: Image.Image, most_px: int) -> UInt8Array:
    factor = math.sqrt(most_px / (grey.width * grey.height))
    if factor < 1:
        size = max(1, round(grey.width * factor)), max(1, round(grey.height * factor))
        grey = grey.resize(size, Image.Resampling.BOX)
    return np.asarray(grey)

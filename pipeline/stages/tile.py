"""Stage tile: a page's pixels to the encoder's views. Runs in workers; never imports torch."""

import time
from collections.abc import Sequence

from ocr.tiling import views
from pipeline.stages.render import PageImage
from pipeline.stages.settings import TileSettings
from pipeline.types import RenderedPage


def tile(images: Sequence[PageImage], settings: TileSettings) -> list[RenderedPage]:
    """Returns the views of each page, in order."""
    return [_tile_page(image, settings) for image in images]


def _tile_page(image: PageImage, settings: TileSettings) -> RenderedPage:
    start = time.perf_counter()
    page_views = views(image.pixels, settings.mode, settings.max_tiles, image.grid)
    height_px, width_px, _ = image.pixels.shape
    return RenderedPage(
        page=image.page,
        views=page_views,
        width_px=width_px,
        height_px=height_px,
        dpi=image.dpi,
        blank=image.blank,
        seconds={"render": image.render_s, "tile": time.perf_counter() - start},
    )

"""Defines the settings of the stages that run in workers: plain and picklable; configuration lives elsewhere."""

from dataclasses import dataclass, field
from typing import Literal

from ocr.families.view_makers import VideoMaker, ViewMaker
from ocr.imaging.tiling import Mode
from pipeline.types import LayerUse, WordUse

# The most pixels of a page for the line reader: an A4 page at 460 dpi.
MAX_GREY_PX = 20_000_000
# The most of a page on which words are looked for: an A4 page at 290 dpi.
MAX_INK_PX = 8_000_000
# The resolution of PDF pages for models whose views have no size of their own.
VIEWS_DPI = 200.0


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestSettings:
    """The settings that select and open input files.

    include, exclude: globs on the path relative to the folder being read (see pipeline.ingest.globs);
        an empty include takes everything. Files named directly are always taken.
    max_image_pixels: an image of more pixels is refused unopened ("pixel bomb").
    passwords: tried in turn on encrypted PDFs; never shown, logged or stored.
    video: whether an image file of several frames is one page, read as a video; then video files are read too.
    video_folders: globs of folders whose images are a video's frames; "." is the folder being read itself.
    manifest: a file that names inputs; None for none (see pipeline.ingest.manifest).
    spool: the folder in which objects are kept while they are read, None for the temporary one. spool_bytes: the most
        that it holds, and the largest object that is read. object_timeout_s: how long a store may send nothing.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_image_pixels: int = 200_000_000
    passwords: tuple[str, ...] = field(default=(), repr=False)
    video: bool = False
    video_folders: tuple[str, ...] = ()
    manifest: str | None = None
    spool: str | None = None
    spool_bytes: int = 4096 << 20
    object_timeout_s: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderSettings:
    """The settings for rendering a page to pixels.

    dpi: resolution of PDF pages; None takes the one that fills the tile grid's canvas, or the line reader's. The grid
        always follows from the size at 144 dpi, so 144 gives exactly what the original scripts read.
    max_image_pixels: the largest image, or PDF page at `dpi`, that is rendered.
    orientation: "auto" rotates pages upright that lie on their side or upside down, "off" none; "runner_up" takes the
        second choice for pages whose orientation is in doubt, for a second reading.
    passwords: see IngestSettings.
    text_layer: how a PDF's own text is used, see Config.
    """

    dpi: float | None = None
    max_image_pixels: int = 200_000_000
    orientation: Literal["auto", "off", "runner_up"] = "auto"
    passwords: tuple[str, ...] = field(default=(), repr=False)
    text_layer: LayerUse = "ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class TileSettings:
    """The settings for making views of pixels: the mode, and the most tiles per page (6 in vLLM, 9 upstream).

    lines: whether the page goes to the line reader: as it was drawn, in grey, without views.
    views: makes the views of a model that has others than global ones and tiles; None for DeepSeek-OCR's.
    video: makes those of an image file of several frames as one page; None reads each frame for itself.
    words: where the words of what a model reads are looked for that says nothing of their places.
    """

    mode: Mode = "gundam"
    max_tiles: int = 6
    lines: bool = False
    views: ViewMaker | None = None
    video: VideoMaker | None = None
    words: WordUse = "off"

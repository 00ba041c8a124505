"""Defines the values that flow through a run: InputFile -> Page -> RenderedPage -> PageResult.

Torch-free.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from encoders.views import PageViews, UInt8Array
from ocr.types import ParsedText, Word
from storage.types import AttemptFacts, FileFacts, PageError

DocumentStatus = Literal["ok", "skipped", "encrypted", "broken", "left_out", "missing"]
PageStatus = Literal[
    "pending", "ok", "blank", "doubtful", "repeated", "truncated", "failed", "embedded", "quarantined"
]
Kind = Literal["pdf", "image", "video"]
# The kind of a page as a survey finds it, without reading the page (survey_task in pipeline.ingest.workers.worker).
PageKind = Literal["embedded", "digital", "scanned", "empty", "unknown"]
# Identifies a file's state when its content was hashed: device, inode, size in bytes, times of modification and of
# change in ns (pipeline.documents.file_access).
FileStamp = tuple[int, int, int, int, int]
# What a run is doing, as its progress shows it.
Phase = Literal["inspecting files", "loading the model", "loading the line reader", "reading"]
# Where words are looked for on a page whose model says nothing of their places: auto in its text layer and else by the
# line reader, layer in its text layer alone, off nowhere.
WordUse = Literal["auto", "lines", "layer", "off"]
# auto: prefer and fallback together.
LayerUse = Literal["auto", "ignore", "prefer", "fallback", "compare"]
# The uses that take a page's text layer before it is read, and those that take it where reading failed.
TAKEN_FIRST, TAKEN_LAST = frozenset[LayerUse]({"auto", "prefer"}), frozenset[LayerUse]({"auto", "fallback"})


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile(FileFacts):
    """One input file after it was probed. path: absolute (pipeline.ingest.walk.canonical).

    is_told: whether a run's end says its reason too; its words are the same for all such files. seconds: how long
    probing took. stamp: the file's state when sha256 was computed. frames: the names of a video's frames, in order,
    where path is their folder. is_known: whether it was probed by an earlier run, and not by this one. probed_ns: when
    probing began, as times of files are told; 0 where it was not.
    """

    status: DocumentStatus
    kind: Kind | None = None
    is_told: bool = False
    seconds: float = 0.0
    stamp: FileStamp | None = None
    frames: tuple[str, ...] = ()
    is_known: bool = False
    probed_ns: int = 0

    def page(self, index: int) -> "Page":
        """Returns one of its pages, 0-based. Only a document that could be read has any."""
        assert self.sha256 is not None
        assert self.kind is not None
        return Page(
            path=self.path,
            sha256=self.sha256,
            kind=self.kind,
            page_index=index,
            stamp=self.stamp,
            frames=self.frames,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page to read. page_index is 0-based.

    stamp: the state of the file that has this sha256; None trusts the path without checking. frames: see InputFile;
    sha256 stands for them, so that pages are hashed and compared without.
    """

    path: str
    sha256: str
    kind: Kind
    page_index: int
    stamp: FileStamp | None = None
    frames: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def page_number(self) -> int:
        """The 1-based number of the page."""
        return self.page_index + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FontSample:
    """A word of a text layer as it is drawn. font: its typeface. grey: [H, W] uint8, the word alone.

    base_px, size_px: where its baseline is in these pixels, and its type size.
    """

    font: str
    text: str
    grey: UInt8Array
    base_px: float
    size_px: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer(ParsedText):
    """A PDF page's own text layer, judged. Boxes are in page pixels.

    is_trustworthy: whether it may replace a reading. reason: a sentence that says why not; "" where it may.
    is_partial: what it holds may be taken, but the page shows more than that; it is not trustworthy then.
    parts: the markdown of each block. in_doubt: words of typefaces whose characters may be others than they say, to be
    compared before the layer is taken; () where none is or none was looked at.
    script: ISO 15924 code of the script of most of its letters, None where there are too few.
    is_visible: whether some of it can be seen on the page: then the page is not blank, whatever else is wrong.
    """

    is_trustworthy: bool
    reason: str
    script: str | None
    is_visible: bool = False
    is_partial: bool = False
    parts: tuple[str, ...] = ()
    in_doubt: tuple[FontSample, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """What is known of a page once it was drawn. width_px, height_px: its size, before tiling.

    dpi: its resolution, None for an image without one. rotation_deg: the clockwise rotation that made the page upright;
    size, boxes, pixels and layer are of the rotated page. runner_up_deg: the rotation to try instead where that one is
    in doubt, None where it is not. missing: a sentence that says what of the page could not be drawn, or which of its
    content or pictures are unusable, so that its layer may lack them; "" where all was drawn.
    """

    page: Page
    width_px: int
    height_px: int
    dpi: float | None
    rotation_deg: int = 0
    runner_up_deg: int | None = None
    missing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPage(PageFacts):
    """A rendered page as views for the encoder, or in grey for the line reader.

    text_layer: the text that the PDF itself has for the page, unjudged; None for an image or where there is none.
    layer: the page's text layer, judged; None where it was not asked for or does not exist.
    script: ISO 15924 code of the text layer's script, None where that cannot be told.
    grey: [H, W] uint8, the page for the line reader, which may be smaller than width_px x height_px; its views are
        empty then. None for a page that the page model reads.
    colour: like grey, how far each pixel is from its ground in the primary colour in which it is farthest; None where
        print stands out as much in grey.
    ink: like grey, of a page that a page model reads, so that the places of its words can be found; None where they
        are not looked for, or known.
    seen: the words of its text layer with their places, where that is trusted and the words' places are looked for.
    """

    views: PageViews
    blank: bool
    seconds: Mapping[str, float]
    text_layer: str | None = None
    layer: Layer | None = None
    script: str | None = None
    grey: UInt8Array | None = None
    colour: UInt8Array | None = None
    ink: UInt8Array | None = None
    seen: tuple[Word, ...] = ()

    @property
    def num_bytes(self) -> int:
        """The size of its pixels."""
        arrays = self.views.global_view, self.views.local_views, self.grey, self.colour, self.ink
        return sum(pixels.nbytes for pixels in arrays if pixels is not None)

    def without_views(self) -> "RenderedPage":
        """Returns the page without pixels, for use after it was read or encoded, so that they can be freed."""
        return replace(self, views=PageViews(grid=self.views.grid), grey=None, colour=None, ink=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenWords:
    """Words that were seen on a page by other means than its model's, with boxes in page pixels.

    shows_print: whether there is print on the page, readable or not. seconds: how long a process of its own took to
    find them, 0 where none did.
    """

    words: tuple[Word, ...] = ()
    shows_print: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedPage(PageFacts):
    """A page whose text layer replaces a reading.

    rest: the page for the line reader without what the layer holds, where it shows more than that; None where not.
    instead_of: why the page could not be drawn, None where the layer is preferred.
    """

    layer: Layer
    seconds: Mapping[str, float]
    instead_of: PageError | None = None
    rest: RenderedPage | None = None

    @property
    def num_bytes(self) -> int:
        """The size of what is to be read of it."""
        return 0 if self.rest is None else self.rest.num_bytes

    def without_views(self) -> "EmbeddedPage":
        """Returns the page without what is to be read of it."""
        return replace(self, rest=None)


ReadyPage = RenderedPage | EmbeddedPage


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResult(AttemptFacts):
    """The result of one attempt at a page: a parsed transcript or an error, never both."""

    page: Page
    status: PageStatus
    parsed: ParsedText | None
    source: Literal["ocr", "layer"] = "ocr"

    def __post_init__(self) -> None:
        assert (self.parsed is None) != (self.error is None), "a transcript or an error, never both"
        assert self.status != "doubtful" or self.doubt, "what is doubtful says why"

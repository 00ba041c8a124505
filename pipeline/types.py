"""The values that flow: Document -> Page -> RenderedPage or DividedPage -> PageResult. Torch-free."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from encoders.views import PageViews
from ocr.types import Block, ParsedText

DocumentStatus = Literal["ok", "skipped", "encrypted", "broken", "left_out", "missing"]
PageStatus = Literal[
    "pending", "ok", "blank", "doubtful", "repeated", "truncated", "failed", "embedded", "quarantined"
]
Kind = Literal["pdf", "image"]
# What a look at a page says before it is read (pipeline.ingest.survey).
PageKind = Literal["embedded", "digital", "scanned", "empty", "unknown"]
# Of a file when its content was hashed: device, inode, bytes, modified and changed in ns
# (pipeline.documents.damage.content).
FileStamp = tuple[int, int, int, int, int]
# auto: as prefer, and as fallback.
LayerUse = Literal["auto", "ignore", "prefer", "fallback", "compare"]
# What takes a page's text layer before it is read, and what takes it where reading failed.
TAKEN_FIRST, TAKEN_LAST = frozenset[LayerUse]({"auto", "prefer"}), frozenset[LayerUse]({"auto", "fallback"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One input file after a look inside it.

    path: absolute (pipeline.ingest.walk.canonical). given: as it was named, None where nobody knows. sha256 is None
    where the file could not be read.
    num_pages: pages or frames found, 0 unless status is "ok". reason: why status is not "ok".
    seconds: what looking inside took. stamp: the file's while sha256 was taken.
    """

    path: str
    sha256: str | None
    size_bytes: int
    kind: Kind | None
    num_pages: int
    status: DocumentStatus
    reason: str | None = None
    seconds: float = 0.0
    stamp: FileStamp | None = None
    given: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page to read. page_index is 0-based. stamp: of the file with that sha256; None trusts the path."""

    path: str
    sha256: str
    kind: Kind
    page_index: int
    stamp: FileStamp | None = None

    @property
    def page_number(self) -> int:
        return self.page_index + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """What a PDF page's own text layer says. text, markdown, blocks: as ParsedText has them, boxes in page pixels.

    is_trustworthy: whether it may stand in for a reading. reason: why not, a sentence; "" where it may.
    script: ISO 15924 code of the script that most of its letters are of, None without enough letters.
    is_visible: whether some of it can be seen on the page: then the page is not blank, whatever else is wrong.
    """

    text: str
    markdown: str
    blocks: tuple[Block, ...]
    is_trustworthy: bool
    reason: str
    script: str | None
    is_visible: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPage:
    """A page as views. width_px, height_px: the rendered page before tiling, at dpi (None: an image without).

    A part of a page is one as well, of the size of the frame that it is laid on.
    text_layer: what the PDF itself says stands there, None for an image or without any. It is a draft for the
        decoder to verify and decides nothing of what is read.
    layer: the page's text layer judged, None where nobody asked for it, for a part of a page or without any.
    script: ISO 15924 code of the script that the text layer is in, None where it does not tell.
    rotation_deg: the clockwise turn that made the page upright; sizes, boxes and layer are of the page thus turned.
    runner_up_deg: the turn to try instead where that is in doubt, None where it is not.
    missing: what of the page's file could not be drawn, a sentence; "" where nothing is.
    shows_print: whether its pixels show writing, so that it cannot be blank; as PartPlan has it.
    """

    page: Page
    views: PageViews
    width_px: int
    height_px: int
    dpi: float | None
    blank: bool
    seconds: Mapping[str, float]
    text_layer: str | None = None
    layer: Layer | None = None
    script: str | None = None
    rotation_deg: int = 0
    runner_up_deg: int | None = None
    missing: str = ""
    shows_print: bool = False

    @property
    def num_bytes(self) -> int:
        return self.views.num_bytes

    def without_views(self) -> "RenderedPage":
        """The same for those who no longer look at it: views of no size."""
        views = self.views
        none = PageViews(
            global_view=views.global_view[:0].copy(),
            local_views=views.local_views[:0].copy(),
            grid=views.grid,
        )
        return replace(self, views=none)


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePart:
    """One part of a page, as views. origin_px: where its frame's upper left corner lies on the page, (x, y).

    paragraph_break: whether its text is set off from the part before it, rather than going on from there.
    within: the number of the larger part, from 0, that this one is a piece of; None for a part of the page.
    """

    rendered: RenderedPage
    origin_px: tuple[int, int]
    paragraph_break: bool
    within: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DividedPage:
    """A page that is read in parts, in reading order. width_px, height_px: the page's own, at dpi.

    angle_deg: how far the page was turned about its middle, counterclockwise, before it was cut.
    layer, script, rotation_deg, runner_up_deg, missing, shows_print: as RenderedPage has them.
    num_letters: of a page with large type alone, as PartPlan has it.
    """

    page: Page
    parts: tuple[PagePart, ...]
    width_px: int
    height_px: int
    dpi: float | None
    angle_deg: float
    seconds: Mapping[str, float]
    layer: Layer | None = None
    script: str | None = None
    rotation_deg: int = 0
    runner_up_deg: int | None = None
    missing: str = ""
    shows_print: bool = False
    num_letters: int | None = None

    @property
    def num_bytes(self) -> int:
        return sum(part.rendered.num_bytes for part in self.parts)

    def without_views(self) -> "DividedPage":
        """The same for those who no longer look at it."""
        parts = (replace(part, rendered=part.rendered.without_views()) for part in self.parts)
        return replace(self, parts=tuple(parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedPage:
    """A page whose text layer stands in for a reading: it has no views. width_px, height_px: the page's at dpi.

    instead_of: why it could not be drawn, None where the layer is preferred. missing: what of the page's content or
    pictures cannot be used, and so what the layer may lack, a sentence; "" where nothing is.
    """

    page: Page
    layer: Layer
    width_px: int
    height_px: int
    dpi: float
    seconds: Mapping[str, float]
    instead_of: "PageError | None" = None
    missing: str = ""

    @property
    def num_bytes(self) -> int:
        return 0

    def without_views(self) -> "EmbeddedPage":
        return self


ReadablePage = RenderedPage | DividedPage
ReadyPage = ReadablePage | EmbeddedPage


@dataclass(frozen=True, slots=True, kw_only=True)
class PageError:
    """Why a page has no transcript. stage: the flow's stage; category: a short stable word."""

    stage: str
    category: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTiming:
    """One stage of one page. share_s: the page's share of the batch; wall_s: the batch's wall time.

    path_use: "hit", "miss" or "eager" for an encoder path, None elsewhere.
    """

    stage: str
    share_s: float
    wall_s: float
    batch_size: int = 1
    path_use: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResult:
    """The end of one attempt at a page: a parsed transcript or an error, never both.

    rung, source, rotation_deg, layer_agreement, script, doubt: as storage.types.PageRecord has them.
    """

    page: Page
    status: PageStatus
    parsed: ParsedText | None
    error: PageError | None
    confidence: float | None = None
    num_tokens: int = 0
    width_px: int | None = None
    height_px: int | None = None
    dpi: float | None = None
    rung: str | None = None
    source: Literal["ocr", "layer"] = "ocr"
    rotation_deg: int = 0
    layer_agreement: float | None = None
    script: str | None = None
    doubt: str | None = None
    timings: tuple[StageTiming, ...] = field(default=())

    def __post_init__(self) -> None:
        assert (self.parsed is None) != (self.error is None), "a transcript or an error, never both"
        assert self.status != "doubtful" or self.doubt, "what is doubtful says why"

"""The records that go into the database. Plain data: storage knows no types of the other packages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol, TypedDict

PAGE_STATUSES = (
    "pending", "ok", "blank", "doubtful", "repeated", "truncated", "failed", "embedded", "quarantined",
)  # fmt: skip
# A page with one of these statuses needs no look; one of the next is not read again under the same settings.
FINE_STATUSES = ("ok", "blank", "embedded")
DONE_STATUSES = (*FINE_STATUSES, "doubtful")
DOCUMENT_STATUSES = ("ok", "skipped", "encrypted", "broken", "left_out", "missing")


def by_status(counts: Mapping[str, int]) -> dict[str, int]:
    """Returns counts of pages in the order of PAGE_STATUSES, without statuses that do not occur."""
    return {name: counts[name] for name in PAGE_STATUSES if name in counts}


# (x0, y0, x1, y1) in pixels of the page as rendered, upright.
BoxPx = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One run at its start.

    config: the resolved configuration as JSON values; values of secret keys are masked when stored.
    model: the model's name as given. versions: name -> version of each component involved.
    """

    settings_hash: str
    config: Mapping[str, object]
    model: str
    weights_sha256: str
    versions: Mapping[str, str]


def facts_of(value: object, kind: type) -> dict[str, Any]:
    """Returns by name those fields of a value that this dataclass has too, to be handed on whole."""
    return {its.name: getattr(value, its.name) for its in fields(kind)}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """What is known of a file: its path and its content.

    sha256: of the whole content; None where the file could not be read. status: one of DOCUMENT_STATUSES. num_pages:
    pages or frames found, 0 unless status is "ok". reason: why it is not, or what of the file is left out.
    """

    path: str
    status: str
    sha256: str | None = None
    size_bytes: int = 0
    kind: str | None = None
    num_pages: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord(FileFacts):
    """One file as a run found it. stamp: stands for its state, which a later run knows again; None if uncertain."""

    stamp: str | None = None


class PlacedWord(Protocol):
    """One word of a page's text, whoever's value it is. box_px: as a block's; None if unknown, as is confidence."""

    @property
    def text(self) -> str: ...
    @property
    def box_px(self) -> BoxPx | None: ...
    @property
    def confidence(self) -> float | None: ...


class PlacedBlock(PlacedWord, Protocol):
    """One region of a page, whoever's value it is.

    box_px: (x0, y0, x1, y1) in page pixels, None if there is none. confidence: 0..1, None if unknown.
    """

    @property
    def label(self) -> str: ...


class WordRow(TypedDict):
    """One word of a stored text, which is split at white space. box, confidence: as a block's."""

    text: str
    box: BoxPx | None
    confidence: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageError:
    """The reason why a page has no text. stage: where it failed; category: a short stable word."""

    stage: str
    category: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTiming:
    """The time that one stage took for one page. share_s: the page's share of its batch; wall_s: the batch's wall time.

    path_use: "hit", "miss" or "eager" for an encoder path, None elsewhere.
    """

    stage: str
    share_s: float
    wall_s: float
    batch_size: int = 1
    path_use: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFacts:
    """What is known of an attempt at a page beside its text.

    confidence: 0..1. width_px, height_px, dpi: of the page as rendered, upright.
    rung: the ladder's step that made the attempt, None for the first reading. source: "ocr", or "layer" for the
    document's own text layer. rotation_deg: clockwise turn (0, 90, 180, 270) that made the page upright.
    layer_agreement: 0..1, how far text and text layer agree, None if they were not compared. script: ISO 15924
    code of a script that the model was not trained on. doubt: why the text may be wrong or incomplete, None if
    nothing suggests so; a "doubtful" page has one, and one that was cut short or repeats itself may.
    packed_words: the text's words as storage.words.packed_for returns them, from where that was done beforehand.
    """

    status: str
    error: PageError | None = None
    confidence: float | None = None
    num_tokens: int = 0
    width_px: int | None = None
    height_px: int | None = None
    dpi: float | None = None
    rung: str | None = None
    source: str = "ocr"
    rotation_deg: int = 0
    layer_agreement: float | None = None
    script: str | None = None
    doubt: str | None = None
    packed_words: bytes | None = None
    timings: tuple[StageTiming, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRecord(AttemptFacts):
    """One attempt at one page. page_index is 0-based; text and error: exactly one of them is not None.

    settings_hash: of everything that decides the text. blocks: in reading order. words: those of text.split(), in its
    order, with what is known of their places; () where nothing is, or they are packed.
    """

    sha256: str
    page_index: int
    settings_hash: str
    text: str | None = None
    markdown: str | None = None
    blocks: Sequence[PlacedBlock] = field(default=())
    words: Sequence[PlacedWord] = field(default=())

    def __post_init__(self) -> None:
        assert (self.text is None) != (self.error is None), "a text or an error, never both"
        assert self.status != "doubtful" or self.doubt, "what is doubtful says why"

    @property
    def seconds(self) -> float:
        """Returns the seconds the page cost: the sum of its shares of every stage."""
        return sum(timing.share_s for timing in self.timings)


# Categories of errors that hit all pages in the model's computation, whichever of them caused it.
LOST_CATEGORIES = ("device_lost", "model_ended")
# Category of a page that was alone in the model when the whole process died.
PROCESS_DIED = "process_died"


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePlan:
    """The work of a run on the pages of a document; page indices, ascending.

    done: has an ok, blank, embedded or doubtful attempt under these settings. given_up: tried under them as often as
    allowed. doubtful: the done pages whose current attempt is doubtful, or was cut short with a text less in doubt.
    kept: the given-up pages whose current attempt has other settings, which read the page to its end.
    last: the pages to read that were in the model when one run died: read after the others, together.
    alone: the pages to read that were being computed when the model was finally lost, or when several runs died, and
    how often that happened to each; one of them may be the cause. Read after all others, one by one.
    """

    to_read: tuple[int, ...]
    done: tuple[int, ...]
    given_up: tuple[int, ...]
    kept: tuple[int, ...] = ()
    doubtful: tuple[int, ...] = ()
    last: tuple[int, ...] = ()
    alone: Mapping[int, int] = field(default_factory=dict)

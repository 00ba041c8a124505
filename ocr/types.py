"""Types of the text that a page was read as. Torch-free."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

Finish = Literal["eos", "length", "loop"]
Format = Literal[
    "text", "markdown", "markdown_html_tables", "latex", "doctags", "doclang", "json_layout", "ref_det", "det"
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFormat:
    """How a model writes a page's text.

    name: as in ocr.families.catalogue.published_models.PublishedModel.format. front_matter: the text begins with YAML
    between lines of ---. keeps_special_tokens: the format is made of tokens that the tokenizer marks as special; of
    other formats they are no part.
    """

    name: Format
    front_matter: bool = False
    keeps_special_tokens: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One region of a page.

    box_px: (x0, y0, x1, y1) in page pixels, None where it is not known. confidence: 0..1, None where it
    is not known. raw_span: its (start, end) in the transcript's raw text; None where that is not known.
    """

    label: str
    text: str
    box_px: tuple[int, int, int, int] | None = None
    confidence: float | None = None
    raw_span: tuple[int, int] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One word: what stands between white space in a page's text. box_px, confidence: as a Block's."""

    text: str
    box_px: tuple[int, int, int, int] | None = None
    confidence: float | None = None


# (x0, y0, x1, y1) in page pixels.
BoxPx = tuple[int, int, int, int]
_Part = TypeVar("_Part", Block, Word)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """The language model's output for one page.

    raw: the decoded text as generated (grounding tags included); after a loop its repeated tail is kept once.
    token_ids: every token generated, the repetitions of a loop included, without the end-of-text token.
    finish: "eos"; "length" when the token limit came first; "loop" when the loop detector stopped it.
    logprobs: each token's log probability, before any ban.
    """

    raw: str
    token_ids: tuple[int, ...]
    finish: Finish
    logprobs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedText:
    """A transcript after its format was parsed: plain text, markdown, blocks in reading order.

    words: those of text.split(), in its order; () where no places of words are known.
    """

    text: str
    markdown: str
    blocks: tuple[Block, ...] = field(default=())
    words: tuple[Word, ...] = field(default=())

    @classmethod
    def of(cls, parts: Sequence[tuple[Block, Sequence[Word], str]]) -> "ParsedText":
        """Returns the text of blocks, each with its words and its markdown, with an empty line between."""
        return cls(
            text="\n\n".join(block.text for block, _, _ in parts),
            markdown="\n\n".join(marked for _, _, marked in parts),
            blocks=tuple(block for block, _, _ in parts),
            words=tuple(word for _, words, _ in parts for word in words),
        )

    def with_boxes(self, moved: Callable[[BoxPx], BoxPx]) -> "ParsedText":
        """Returns the text with its boxes elsewhere. moved: says where a box is then."""

        def at(part: _Part) -> _Part:
            return part if part.box_px is None else replace(part, box_px=moved(part.box_px))

        return replace(self, blocks=tuple(map(at, self.blocks)), words=tuple(map(at, self.words)))

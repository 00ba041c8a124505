"""Defines a page that the decoder has finished, as the decode stage takes it. Torch-free."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ocr.decoding.requests import PageRead, PageRequest
    from pipeline.stages.encode import EncodedPage


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """The decoder's output for an encoded page. seconds: from taking the page to its last token.

    num_together: how many pages were being read then. ended_at: time.monotonic() at its last token.
    """

    encoded: "EncodedPage"
    read: "PageRead"
    request: "PageRequest"
    seconds: float
    num_together: int
    ended_at: float = 0.0

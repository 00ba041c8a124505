"""Opens the text of a PDF page as MuPDF extracts it, with its one set of flags, and walks its spans. Torch-free."""

from collections.abc import Iterator
from typing import Any

import pymupdf

# PRESERVE_WHITESPACE: tabs and wide spaces stay what they are, and make columns. MEDIABOX_CLIP: text off the page is
# not on it. Without CID_FOR_UNKNOWN_UNICODE a character that maps to no letter is U+FFFD.
_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP
_DRAWN = 16 | 32  # FZ_STEXT_FILLED, FZ_STEXT_STROKED: not set for invisible text (text rendering mode 3)


def open_text(display: Any, *, codes_for_unmapped: bool = False) -> Any:
    """Returns the pymupdf TextPage of a page, in points of the page as shown. display: its DisplayList.

    codes_for_unmapped: characters that map to no letter are their codes in the typeface, often the right letters:
    good enough to tell a script. Text that is taken as it is needs U+FFFD, by which it is distrusted.
    Raises: whatever MuPDF does.
    """
    unmapped = pymupdf.TEXT_CID_FOR_UNKNOWN_UNICODE if codes_for_unmapped else 0
    return pymupdf.TextPage(display.get_textpage(_FLAGS | unmapped))


def text_spans(text: Any, *, with_chars: bool = False) -> Iterator[tuple[Any, Any]]:
    """Yields each span of a TextPage with its line, as MuPDF's dictionaries, in the order of the page's content.

    with_chars: a span has "chars", each with its box, instead of "text". That takes three times as long.
    """
    found = text.extractRAWDICT() if with_chars else text.extractDICT()
    for block in found["blocks"]:
        for line in block.get("lines", ()):
            for span in line["spans"]:
                yield line, span


def is_drawn(span: Any) -> bool:
    """Returns whether a span's rendering mode leaves a mark."""
    return bool(span["char_flags"] & _DRAWN)

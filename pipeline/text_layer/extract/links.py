"""The links of a PDF page that lead to an address, as areas of the page. Runs in workers; torch-free."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from pipeline.text_layer.extract.glyphs import Box, Glyph

# What a link in an export may lead to (storage.export.markup): these only show a page, or an empty letter.
_SCHEMES = ("http://", "https://", "mailto:")
_LONGEST = 2000
# What an address may hold within the brackets of markdown; the rest is written as %XX. % itself is there already.
_SAFE = "%/:?#@!$&*+,;=~-._[]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """box: in points of the page as it is shown. address: fit for markdown."""

    box: Box
    address: str

    def touches(self, box: Box) -> bool:
        (x0, y0, x1, y1), (left, top, right, bottom) = self.box, box
        return x0 <= right and left <= x1 and y0 <= bottom and top <= y1

    def is_on(self, char: Glyph) -> bool:
        (x, y), (x0, y0, x1, y1) = char.middle, self.box
        return x0 <= x <= x1 and y0 <= y <= y1


def find_links(page: Any) -> list[Link]:
    """Returns the links to web pages and mailboxes; what leads within the document or runs something is left out.

    page: a pymupdf Page. Raises: whatever MuPDF does.
    """
    found = []
    link = page.first_link  # get_links() looks for every named place of the document, which may take seconds
    while link is not None:
        address = link.uri or ""
        if address.lower().startswith(_SCHEMES) and len(address) <= _LONGEST:
            found.append(Link(box=tuple(link.rect), address=quote(address, safe=_SAFE)))
        link = link.next
    return found


def address_at(char: Glyph, links: Sequence[Link]) -> str | None:
    """Returns where the character leads."""
    return next((link.address for link in links if link.is_on(char)), None)

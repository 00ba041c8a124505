"""Finds the links of a PDF page that lead to an address, as areas of the page. Runs in workers; torch-free."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from pipeline.text_layer.extract.spans import Box, Glyph

# Schemes that links in an export may have (storage.export.markdown): these only open a page, or an empty e-mail.
_SCHEMES = ("http://", "https://", "mailto:")
_LONGEST = 2000
# Characters that may be in an address within markdown's brackets; others become %XX. A % is already part of one.
_SAFE = "%/:?#@!$&*+,;=~-._[]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link on a page. box: in points of the page as shown. address: safe in markdown."""

    box: Box
    address: str

    def touches(self, box: Box) -> bool:
        """Returns whether the link's area touches a box."""
        (x0, y0, x1, y1), (left, top, right, bottom) = self.box, box
        return x0 <= right and left <= x1 and y0 <= bottom and top <= y1

    def is_on(self, char: Glyph) -> bool:
        """Returns whether a character's middle lies in the link's area."""
        (x, y), (x0, y0, x1, y1) = char.middle, self.box
        return x0 <= x <= x1 and y0 <= y <= y1


def find_links(page: Any) -> list[Link]:
    """Returns the links to web pages and e-mail addresses, not those within the document or that run something.

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
    """Returns the address that a character links to, None if it is not in a link."""
    return next((link.address for link in links if link.is_on(char)), None)

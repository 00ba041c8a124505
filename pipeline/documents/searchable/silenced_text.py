"""Makes a page's own text one of blanks for programs that extract it, and leaves the page as it looks. Runs in workers.

Text that was read takes its place, so that nobody finds each word twice or what a bad layer says. Only fonts change: a
copy of each says that all its codes are spaces. What is drawn does not depend on that.
Source: ISO 32000-1, 9.10.3 (ToUnicode CMaps).
"""

from collections.abc import Iterator
from typing import Any

import pikepdf
from pikepdf import Dictionary, Name

from pipeline.documents.searchable.invisible_text import WIDE_CODES, to_unicode

_DEEPEST = 8  # of forms within forms
_SPACES = b"[" + b"<0020>" * 256 + b"]"


class SilencedText:
    """Copies of a document's fonts and forms with text that is blank, each made once."""

    def __init__(self, pdf: pikepdf.Pdf) -> None:
        self._pdf = pdf
        self._copies: dict[tuple[int, int], pikepdf.Object] = {}
        self._maps: dict[bool, pikepdf.Object] = {}

    def resources(self, own: pikepdf.Object, depth: int = 0) -> pikepdf.Object:
        """Returns resources with the fonts and forms of a page's or a form's own silenced; these stay as they are."""
        made = Dictionary(dict(own.items()))
        fonts, forms = own.get("/Font"), own.get("/XObject")
        if isinstance(fonts, Dictionary):
            made.Font = Dictionary({name: self._font(font) for name, font in fonts.items()})
        if isinstance(forms, Dictionary) and depth < _DEEPEST:
            made.XObject = Dictionary({name: self._form(form, depth) for name, form in forms.items()})
        return made

    def annotations(self, page: pikepdf.Page) -> None:
        """Silences what a page's annotations show, such as the values of fields."""
        for form in _appearances(page):
            if isinstance(own := form.get("/Resources"), Dictionary):
                form.Resources = self.resources(own)

    def _font(self, font: pikepdf.Object) -> pikepdf.Object:
        if not isinstance(font, Dictionary) or font.get("/Type") not in (None, Name.Font):
            return font
        if font.objgen not in self._copies or not font.is_indirect:
            is_wide = font.get("/Subtype") == Name.Type0
            if is_wide not in self._maps:
                self._maps[is_wide] = self._pdf.make_stream(_map(is_wide=is_wide))
            copy = self._pdf.make_indirect(
                Dictionary({**dict(font.items()), "/ToUnicode": self._maps[is_wide]})
            )
            self._copies[font.objgen if font.is_indirect else copy.objgen] = copy
            return copy
        return self._copies[font.objgen]

    def _form(self, form: Any, depth: int) -> Any:
        """Returns a form's copy with silenced resources; pictures, and forms without any, as they are."""
        is_form = isinstance(form, pikepdf.Stream) and form.get("/Subtype") == Name.Form
        if not is_form or not isinstance(form.get("/Resources"), Dictionary):
            return form
        if form.objgen not in self._copies:
            words = {key: value for key, value in form.stream_dict.items() if key not in _OF_DATA}
            copy = self._pdf.make_stream(b"", words)
            copy.write(
                form.read_raw_bytes(), filter=form.get("/Filter"), decode_parms=form.get("/DecodeParms")
            )
            self._copies[form.objgen] = copy
            copy.Resources = self.resources(form.Resources, depth + 1)
        return self._copies[form.objgen]


_OF_DATA = ("/Length", "/Filter", "/DecodeParms")


def _appearances(page: pikepdf.Page) -> Iterator[pikepdf.Object]:
    notes = page.obj.get("/Annots")
    for note in notes if isinstance(notes, pikepdf.Array) else ():
        looks = note.get("/AP") if isinstance(note, Dictionary) else None
        shown = looks.get("/N") if isinstance(looks, Dictionary) else None
        if isinstance(shown, pikepdf.Stream):
            yield shown
        elif isinstance(shown, Dictionary):
            yield from (one for _, one in shown.items() if isinstance(one, pikepdf.Stream))


def _map(*, is_wide: bool) -> bytes:
    """Returns a CMap in which all codes, of one byte or two, are spaces."""
    if not is_wide:
        return to_unicode(b"<00> <FF>", b"1 beginbfrange\n<00> <FF> %b\nendbfrange\n" % _SPACES)
    ranges = [b"<%02X00> <%02XFF> %b\n" % (high, high, _SPACES) for high in range(256)]
    blocks = [ranges[start : start + 100] for start in range(0, 256, 100)]
    body = b"".join(b"%d beginbfrange\n%bendbfrange\n" % (len(block), b"".join(block)) for block in blocks)
    return to_unicode(WIDE_CODES, body)

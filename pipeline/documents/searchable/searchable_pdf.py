"""Makes a document's searchable PDF: its pages as they are, with the words that were read as invisible text.

Runs in workers, and never imports torch.
"""

import io
from collections.abc import Sequence
from itertools import count

import pikepdf
import pymupdf
from PIL import Image

from ocr.imaging import planes
from pipeline.documents import images
from pipeline.documents.pdf import POINTS_PER_INCH
from pipeline.documents.searchable.incremental_update import NotAppendableError, appended, highest_number
from pipeline.documents.searchable.invisible_text import TextPage, content, font
from pipeline.documents.searchable.silenced_text import SilencedText
from pipeline.documents.sniff import Format

_FONT = "OcrbatchText"
# Those that MuPDF puts into a PDF as they are, or without loss.
_BY_MUPDF = {"JPEG": "jpeg", "PNG": "png", "TIFF": "tiff", "JPEG2000": "jp2"}
_SIGNED = 1  # of /SigFlags
_MOST_PX = 500_000_000
_USUAL_DPI = 150  # of a picture that does not say it


class NotSearchableError(ValueError):
    """Text cannot be added to a document; says why."""


def searchable(data: bytes, kind: Format, pages: Sequence[TextPage]) -> bytes:
    """Returns the document as a PDF with the pages' words instead of their own text. data: of a PDF or an image.

    A PDF without words to add is returned as it is. To a signed one words are appended, so that the signature still
    holds for what was signed. Raises: NotSearchableError where it is encrypted, certified or damaged, or has not got
    these pages.
    """
    if kind == "PDF":
        return _with_text(data, pages) if any(page.words for page in pages) else data
    return _with_text(_as_pdf(data, kind, pages), pages, turned=True)


def _with_text(data: bytes, pages: Sequence[TextPage], *, turned: bool = False) -> bytes:
    """Returns a PDF with text. turned: also shows its pages upright, as of a picture that nobody made a PDF of yet."""
    try:
        pdf = pikepdf.open(io.BytesIO(data))
    except pikepdf.PasswordError:
        raise NotSearchableError("needs a password, and text cannot be added without it") from None
    except pikepdf.PdfError as error:
        raise NotSearchableError(f"is damaged, so that text cannot be added to it: {error}") from None
    with pdf:
        signed = is_signed(pdf)
        if signed and (pdf.is_encrypted or "/DocMDP" in pdf.Root.get("/Perms", {})):
            raise NotSearchableError("is signed, and may not be changed")
        highest, changed = highest_number(pdf) if signed else 0, []
        shared, silenced = font(pdf), SilencedText(pdf)
        for text in pages:
            if text.page_index >= len(pdf.pages):
                raise NotSearchableError(f"has {len(pdf.pages)} pages, and no page {text.page_index + 1}")
            page = pdf.pages[text.page_index]
            if text.words:
                _write(pdf, page, text, silenced.resources(page.resources), shared)
                changed.append(page.obj)
                if not signed:
                    silenced.annotations(page)
            if turned and text.rotation_deg:
                page.rotate(text.rotation_deg, relative=True)
        if not signed:
            made = io.BytesIO()
            # What its owner allows stays.
            pdf.save(made, encryption=pdf.is_encrypted)
            return made.getvalue()
        try:  # behind its own bytes, which is what the signature is of
            return appended(data, pdf, changed, highest)
        except NotAppendableError as error:
            raise NotSearchableError(f"is signed, and nothing can be appended to it: {error}") from None


def _write(
    pdf: pikepdf.Pdf, page: pikepdf.Page, text: TextPage, resources: pikepdf.Object, shared: pikepdf.Object
) -> None:
    """Adds the text to a page, whose own objects alone change: what it shares with others stays as it is.

    resources: the page's, silenced. shared: the font.
    """
    fonts = dict(resources.get("/Font", pikepdf.Dictionary()).items())
    name = next(name for index in count() if f"/{(name := f'{_FONT}{index}')}" not in fonts)
    resources.Font = pikepdf.Dictionary({**fonts, f"/{name}": shared})
    own = page.obj.get("/Contents", pikepdf.Array())
    before = list(own.as_list()) if isinstance(own, pikepdf.Array) else [own]
    added = pdf.make_stream(b"\nQ\n" + content(text, page, name))
    page.obj.Contents = pikepdf.Array([pdf.make_stream(b"q\n"), *before, added])
    page.obj.Resources = resources


def is_signed(pdf: pikepdf.Pdf) -> bool:
    """Returns whether the document is signed."""
    form = pdf.Root.get("/AcroForm")
    return isinstance(form, pikepdf.Dictionary) and bool(int(form.get("/SigFlags", 0)) & _SIGNED)


def _as_pdf(data: bytes, kind: Format, pages: Sequence[TextPage]) -> bytes:
    """Returns the pictures as a PDF. JPEG stays as it is, others are stored without loss."""
    if kind in _BY_MUPDF:
        try:
            with pymupdf.open(_BY_MUPDF[kind], data) as pictures:
                made: bytes = pictures.convert_to_pdf()
                with _opened(data, kind) as picture:
                    if pictures.page_count == images.count_frames(picture):
                        return made
        except Exception:  # C parsers raise anything, and Pillow reads more
            pass
    return _by_pillow(data, kind)


def _opened(data: bytes, kind: Format) -> Image.Image:
    images.learn(kind)
    return Image.open(io.BytesIO(data), formats=(kind,))


def _by_pillow(data: bytes, kind: Format) -> bytes:
    with _opened(data, kind) as picture, pymupdf.open() as document:
        for index in range(images.count_frames(picture)):
            pixels, dpi = images.read_frame(picture, index, _MOST_PX)
            height, width = pixels.shape[:2]
            scale = POINTS_PER_INCH / (dpi or _USUAL_DPI)
            png = io.BytesIO()
            planes.picture_of(pixels).save(png, "PNG")
            page = document.new_page(width=width * scale, height=height * scale)
            page.insert_image(page.rect, stream=png.getvalue())
        made: bytes = document.tobytes(deflate=True)
        return made


_FLAVOUR = "2b"
# Rules of the check itself, on what it does not know; others are the standard's.
_UNCHECKED = "pikepdf:"


class NotArchivalError(ValueError):
    """A PDF has something on its pages that PDF/A has not; says what."""


def archival(data: bytes, *, by_ghostscript: bool = False) -> bytes:
    """Returns a PDF as PDF/A-2b.

    by_ghostscript: whether Ghostscript wrote it as one; then what the check does not know is let pass. Raises:
    NotArchivalError; NotSearchableError where it must not be changed or cannot be opened.
    """
    from pikepdf import pdfa

    try:
        pdf = pikepdf.open(io.BytesIO(data))
    except pikepdf.PasswordError:
        raise NotSearchableError("needs a password, and is no PDF/A with one") from None
    except pikepdf.PdfError as error:
        raise NotSearchableError(f"is damaged, so that no PDF/A can be made of it: {error}") from None
    with pdf:
        if pdf.is_encrypted:
            raise NotSearchableError("is encrypted for what its owner allows, which a PDF/A cannot be")
        if is_signed(pdf):
            raise NotSearchableError("is signed, and a changed copy would break the signature")
        if "/Info" in pdf.Root:  # MuPDF's; the one that counts is the trailer's
            del pdf.Root["/Info"]
        made = io.BytesIO()
        settings = pdfa.resolve_save_kwargs(_FLAVOUR)
        pdfa.prepare(pdf, _FLAVOUR)
        # Not by pdfa.save, which needs a file: workers may write none.
        pdf.save(made, **settings)
    report = pdfa.validate_written(made, _FLAVOUR, save_kwargs=settings)
    found = [one for one in report.findings if not by_ghostscript or not one.rule.startswith(_UNCHECKED)]
    if found:
        raise NotArchivalError(found[0].message)
    return made.getvalue()

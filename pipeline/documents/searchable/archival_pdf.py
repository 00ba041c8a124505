"""Makes a PDF one for archives, PDF/A-2b: what repairs do without drawing its pages anew. Runs in workers.

pikepdf repairs structure and metadata and then checks every part of the file against what it knows to conform. What
needs other fonts or colours on a page is left to Ghostscript (pipeline/export/ghostscript.py), whose output comes here.
Source: ISO 19005-2; pikepdf.pdfa.
"""

import io

import pikepdf

from pipeline.documents.searchable.searchable_pdf import NotSearchableError, is_signed

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

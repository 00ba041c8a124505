"""Makes a sample page: a PDF with a few lines of text in a typeface that is not in the file."""

from collections.abc import Sequence

TEXT = (
    "The minutes of the last meeting were read and\n"
    "approved. Twelve members were present, and the\n"
    "treasurer reported a balance of 1,482.50 pounds.\n"
    "It was agreed to repair the roof of the library\n"
    "before winter, and to ask three firms for a price.\n"
    "The next meeting will be held on 14 October."
)


def sample_pdf(text: str = TEXT) -> bytes:
    """Returns a PDF of one A4 page. text: lines of printable ASCII.

    Source: ISO 32000-1, 7.5 (file structure) and 9.6.2.2 (the standard 14 fonts need not be embedded).
    """
    escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    lines = " ".join(f"({line}) Tj T*" for line in escaped.split("\n"))
    content = f"BT /F1 12 Tf 16 TL 72 740 Td {lines} ET".encode("ascii")
    return pdf_file((
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        stream(content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ))  # fmt: skip


def stream(content: bytes, entries: bytes = b"") -> bytes:
    """Returns a PDF stream object. entries: of its dictionary."""
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), entries, content)


def pdf_file(objects: Sequence[bytes]) -> bytes:
    """Returns the PDF file that holds these objects, numbered from 1; the first is the catalog."""
    file, offsets = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(file))
        file += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    size, start = len(objects) + 1, len(file)
    file += b"xref\n0 %d\n0000000000 65535 f \n" % size
    file += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return file + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, start)

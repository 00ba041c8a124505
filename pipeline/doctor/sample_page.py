"""Makes a sample page: a PDF with a few lines of text in a typeface that is not in the file."""

TEXT = (
    "The minutes of the last meeting were read and\n"
    "approved. Twelve members were present, and the\n"
    "treasurer reported a balance of 1,482.50 pounds.\n"
    "It was agreed to repair the roof of the library\n"
    "before winter, and to ask three firms for a price.\n"
    "The next meeting will be held on 14 October."
)


def sample_pdf(text: str = TEXT) -> bytes:
    """Returns a PDF of one A4 page. text: lines of printable ASCII, in Helvetica, which no file needs to hold."""
    import pymupdf

    with pymupdf.open() as document:
        document.new_page().insert_text(
            (72, 102), text.split("\n"), fontname="helv", fontsize=12, lineheight=4 / 3
        )
        return bytes(document.tobytes())

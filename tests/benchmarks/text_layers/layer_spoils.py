"""Spoils the text layers of good pages so that they differ from what the page shows: text_layer must not trust them.

Every maker takes a document of one page and changes it in place, or returns another; None if it cannot be done to
this page.
"""

import io
import random
import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pymupdf
from PIL import Image, ImageFilter

Maker = Callable[[pymupdf.Document, random.Random], pymupdf.Document | None]
_DPI = 150
_CMAP = """/CIDInit /ProcSet findresource begin 12 dict begin begincmap
/CMapName /Spoilt def /CMapType 2 def 1 begincodespacerange <{low}> <{high}> endcodespacerange
{body}
endcmap CMapName currentdict /CMap defineresource pop end end"""


def _with_cmaps(document: pymupdf.Document, body: Callable[[bool], str]) -> pymupdf.Document | None:
    """Gives every font of the page our own ToUnicode map.

    body: returns its lines, given whether codes have two bytes.
    """
    fonts = document[0].get_fonts(full=True)
    for xref, _, kind, *_ in fonts:
        wide = kind == "Type0"
        text = _CMAP.format(low="0000" if wide else "00", high="ffff" if wide else "ff", body=body(wide))
        stream = document.get_new_xref()
        document.update_object(stream, "<<>>")
        document.update_stream(stream, text.encode())
        document.xref_set_key(xref, "ToUnicode", f"{stream} 0 R")
    return pymupdf.open("pdf", document.tobytes()) if fonts else None


def _range(wide: bool, to: int) -> str:
    low, high = ("0000", "ffff") if wide else ("00", "ff")
    return f"1 beginbfrange <{low}> <{high}> <{to:04x}> endbfrange"


def shifted(document: pymupdf.Document, rng: random.Random) -> pymupdf.Document | None:
    """Shifts each character a few places in the alphabet."""
    by = rng.choice([1, 2, 3, 5, 13])
    return _with_cmaps(document, lambda wide: _range(wide, by))


def shuffled(document: pymupdf.Document, rng: random.Random) -> pymupdf.Document | None:
    """Exchanges letters at random."""

    def body(wide: bool) -> str:
        letters = list(range(97, 123))
        rng.shuffle(letters)
        code = "{:04x}" if wide else "{:02x}"
        lines = [f"<{code.format(97 + i)}> <{letter:04x}>" for i, letter in enumerate(letters)]
        return f"{len(lines)} beginbfchar\n" + "\n".join(lines) + "\nendbfchar"

    return _with_cmaps(document, body)


def private_use(document: pymupdf.Document, rng: random.Random) -> pymupdf.Document | None:
    return _with_cmaps(document, lambda wide: _range(wide, 0xE000))


def one_letter(document: pymupdf.Document, rng: random.Random) -> pymupdf.Document | None:
    """Makes every character the same."""
    letter = rng.choice("aenx?")

    def body(wide: bool) -> str:
        lines = [
            f"<{code:04x}> <{ord(letter):04x}>" if wide else f"<{code:02x}> <{ord(letter):04x}>"
            for code in range(256)
        ]
        blocks = [lines[start : start + 100] for start in range(0, 256, 100)]
        return "\n".join(f"{len(b)} beginbfchar\n" + "\n".join(b) + "\nendbfchar" for b in blocks)

    return _with_cmaps(document, body)


def other_alphabet(document: pymupdf.Document, rng: random.Random) -> pymupdf.Document | None:
    """Makes Latin letters Cyrillic, Greek or accented ones."""
    to = rng.choice([0x0400, 0x0370, 0x00A0 - 0x20])
    return _with_cmaps(document, lambda wide: _range(wide, to))


def without_unicode(document: pymupdf.Document, rng: random.Random) -> pymupdf.Document | None:
    """Removes the maps of fonts addressed by glyph numbers."""
    wide = [font[0] for font in document[0].get_fonts(full=True) if font[2] == "Type0"]
    for xref in wide:
        document.xref_set_key(xref, "ToUnicode", "null")
    return pymupdf.open("pdf", document.tobytes()) if wide else None


def mojibake(document: pymupdf.Document, rng: random.Random) -> pymupdf.Document | None:
    """Makes a page in French whose accents are UTF-8 read as Latin 1."""
    text = (
        "Où l'été s'achève, les élèves préfèrent le café français à la bière, déjà très âgée et très chère. "
    )
    page = document.new_page()
    page.insert_textbox(_inside(page), text * rng.randint(8, 25), fontname="tiro", fontsize=11)
    document.delete_page(0)

    def body(wide: bool) -> str:
        lines = [
            f"<{code:02x}> <" + "".join(f"{byte:04x}" for byte in chr(code).encode()) + ">"
            for code in range(0xC0, 0x100)
        ]
        return (
            f"{len(lines)} beginbfchar\n"
            + "\n".join(lines)
            + "\nendbfchar\n1 beginbfrange <20> <7e> <0020> endbfrange"
        )

    return _with_cmaps(document, body)


def out_of_order(document: pymupdf.Document, rng: random.Random) -> pymupdf.Document | None:
    """Writes the lines in place, but in random order."""
    spans = [
        span
        for block in document[0].get_text("dict")["blocks"]
        for line in block.get("lines", ())
        for span in line["spans"]
    ]
    made = pymupdf.open()
    page = made.new_page(width=document[0].rect.width, height=document[0].rect.height)
    rng.shuffle(spans)
    for span in spans:
        text = span["text"].encode("latin-1", "ignore").decode("latin-1")
        page.insert_text(span["origin"], text, fontsize=span["size"], fontname="tiro")
    return made if len(spans) > 15 else None


def written_twice(document: pymupdf.Document, rng: random.Random) -> pymupdf.Document | None:
    """Draws everything twice, slightly offset: MuPDF drops such copies, but not those far enough away."""
    made = pymupdf.open()
    page = made.new_page(width=document[0].rect.width, height=document[0].rect.height)
    for by in (0.0, 3.0):
        page.show_pdf_page(pymupdf.Rect(by, 0, page.rect.width + by, page.rect.height), document, 0)
    return made


def _scan(document: pymupdf.Document, rng: random.Random) -> tuple[pymupdf.Document, pymupdf.Page, bytes]:
    """Returns the page as a picture of poor quality, on an otherwise empty page of its size."""
    pixmap = document[0].get_pixmap(dpi=_DPI)
    image = Image.frombytes("RGB", (pixmap.width, pixmap.height), pixmap.samples).convert("L")
    image = image.filter(ImageFilter.GaussianBlur(rng.uniform(0.8, 1.6))).rotate(
        rng.uniform(-1, 1), fillcolor=255
    )
    file = io.BytesIO()
    image.save(file, "JPEG", quality=40)
    made = pymupdf.open()
    page = made.new_page(width=document[0].rect.width, height=document[0].rect.height)
    return made, page, file.getvalue()


def _inside(page: pymupdf.Page) -> pymupdf.Rect:
    """Returns the page without its margins."""
    return pymupdf.Rect(60, 60, page.rect.width - 60, page.rect.height - 60)


def _nonsense(rng: random.Random, num: int) -> str:
    return " ".join(
        "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(num)
    )


def hidden_nonsense(document: pymupdf.Document, rng: random.Random) -> pymupdf.Document | None:
    """Makes a scan over invisible words without meaning."""
    made, page, picture = _scan(document, rng)
    page.insert_image(page.rect, stream=picture)
    page.insert_textbox(_inside(page), _nonsense(rng, 250), fontsize=11, render_mode=3)
    return made


def hidden_recognised(document: pymupdf.Document, rng: random.Random) -> pymupdf.Document | None:
    """Makes a poor scan over Tesseract's reading of it."""
    _, _, picture = _scan(document, rng)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "scan.jpg"
        with Image.open(io.BytesIO(picture)) as image:
            image.save(source, dpi=(_DPI, _DPI))
        subprocess.run(["tesseract", source, Path(folder) / "out", "pdf"], check=True, capture_output=True)
        return pymupdf.open("pdf", (Path(folder) / "out.pdf").read_bytes())


def text_under_scan(document: pymupdf.Document, rng: random.Random) -> pymupdf.Document | None:
    """Draws the scan over black words of another page."""
    made, page, picture = _scan(document, rng)
    page.insert_textbox(_inside(page), _ENGLISH, fontsize=11)
    page.insert_image(page.rect, stream=picture)
    return made


def text_under_strips(document: pymupdf.Document, rng: random.Random) -> pymupdf.Document | None:
    """Draws the scan over black words of another page, of which only the upper 45% remains."""
    made, page, picture = _scan(document, rng)
    page.insert_textbox(pymupdf.Rect(60, 60, 535, 330), _ENGLISH[:900], fontsize=11)
    with Image.open(io.BytesIO(picture)) as image:
        upper = io.BytesIO()
        image.crop((0, 0, image.width, int(image.height * 0.45))).save(upper, "PNG")
    page.insert_image(pymupdf.Rect(0, 0, page.rect.width, page.rect.height * 0.45), stream=upper.getvalue())
    return made


def _outlines(document: pymupdf.Document) -> tuple[pymupdf.Document, pymupdf.Page]:
    drawn = pymupdf.open("svg", document[0].get_svg_image(text_as_path=True).encode())
    made = pymupdf.open("pdf", drawn.convert_to_pdf())
    return made, made[0]


def white_on_outlines(document: pymupdf.Document, rng: random.Random) -> pymupdf.Document | None:
    """Draws text as curves, and white words of another page on it."""
    made, page = _outlines(document)
    page.insert_textbox(_inside(page), _ENGLISH, fontsize=11, color=(1, 1, 1))
    return made


def tiny_on_outlines(document: pymupdf.Document, rng: random.Random) -> pymupdf.Document | None:
    """Draws text as curves, and words in a type too small to see."""
    made, page = _outlines(document)
    page.insert_text((60, 60), _ENGLISH[:400], fontsize=0.3)
    return made


def half_outlines(document: pymupdf.Document, rng: random.Random) -> pymupdf.Document | None:
    """Draws text as curves, with a heading of real text."""
    made, page = _outlines(document)
    page.insert_text((60, 30), "A heading that can be selected", fontsize=12)
    return made


def stamped_scan(document: pymupdf.Document, rng: random.Random) -> pymupdf.Document | None:
    """Makes a scan with a line of text that the scanner's program wrote on it."""
    made, page, picture = _scan(document, rng)
    page.insert_image(page.rect, stream=picture)
    page.insert_text((200, page.rect.height - 20), "Scanned with a scanner, page 1 of 1", fontsize=10)
    return made


def one_place(document: pymupdf.Document, rng: random.Random) -> pymupdf.Document | None:
    """Draws text as curves, and all characters of a text in one place."""
    made, page = _outlines(document)
    for letter in re.sub(r"\s", "", _ENGLISH)[:300]:
        page.insert_text((60, 100), letter, fontsize=10)
    return made


def pasted_picture(document: pymupdf.Document, rng: random.Random) -> pymupdf.Document | None:
    """Makes a page of text with a picture of text in its lower third."""
    made, page, picture = _scan(document, rng)
    page.insert_textbox(pymupdf.Rect(60, 60, 535, page.rect.height * 0.6), _ENGLISH, fontsize=9)
    with Image.open(io.BytesIO(picture)) as image:
        lower = io.BytesIO()
        image.crop((0, image.height // 5, image.width, image.height // 2)).save(lower, "PNG")
    page.insert_image(
        pymupdf.Rect(0, page.rect.height * 0.68, page.rect.width, page.rect.height * 0.98),
        stream=lower.getvalue(),
    )
    return made


_ENGLISH = (
    "The harbour lay quiet in the early light, and the boats that had come in during the night were still heavy with "
    "their catch. Nobody spoke much. An old man mended his nets on the wall, as he had done every morning for forty "
    "years, and watched the gulls quarrel over what had been thrown away. "
) * 6
SPOILS: tuple[Maker, ...] = (
    shifted, shuffled, private_use, one_letter, other_alphabet, without_unicode, mojibake, written_twice,
    hidden_nonsense, hidden_recognised, text_under_scan, text_under_strips, white_on_outlines, tiny_on_outlines,
    half_outlines, stamped_scan, one_place, pasted_picture,
)  # fmt: skip

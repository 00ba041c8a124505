"""Born-digital pages whose text layers the model would misread or miss, and some that must not be trusted.

Exact texts (an invoice, scripts that the model cannot read, a poster, a chapter's number), layers that hold less than
the page shows (stamps, letterheads, figures that are pictures or curves), and layers that were put under scans or
differ from the page. `python -m tests.faults.statuses make DIR --kinds layer` writes them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import pymupdf
from PIL import Image, ImageDraw, ImageFont

from tests.faults.statuses.pages import MadePage, Workshop

_A4 = pymupdf.Rect(0, 0, 595, 842)
_BODY = pymupdf.Rect(70, 150, 525, 760)
LETTER = (
    "Dear Mrs. Marten, thank you for your order of 12 March. The two shelves leave our workshop on Friday and "
    "reach you in the week after Easter. Please let us know whether the lift in your house takes boards of 2400 mm, "
    "or whether they have to be carried up the stairs. "
)
INVOICE = (
    "Werkstatt Marten OHG", "Lindenstraße 12", "20355 Hamburg", "Rechnung Nr. 2024-0317",
    "2 Regalböden 2400 mm x 300 mm", "IBAN DE89 3704 0044 0532 0130 00", "USt-IdNr. DE811569869", "Summe 1.184,05 EUR",
)  # fmt: skip
SCRIPTS = {
    "arabic": ("rtl", "في مدينتنا مكتبة كبيرة وهي مفتوحة من صباح حتى مساء، رقم 1234 في سنة 2024."),
    "hebrew": ("rtl", "בבוקר מוקדם הנמל היה שקט, והסירות עדיין היו כבדות. מספר 1234 בשנה."),
    "hindi": ("ltr", "सुबह बंदरगाह शांत था और हम सब गाँव से आए, बाज़ार अब तक बंद था।"),
    "greek": ("ltr", "Νωρίς το πρωί το λιμάνι ήταν ήσυχο και οι βάρκες ήταν ακόμα βαριές."),
    "russian": ("ltr", "Ранним утром в гавани было тихо, и лодки ещё стояли тяжёлые от улова."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A kind of page. draw: puts it together. texts: what an embedded or ok text must hold exactly; one that holds less
    may only be doubtful. statuses: that the page may end with. is_mixed: the layer is taken, and what the page shows
    besides is read.
    """

    draw: Callable[[Any], None]
    texts: tuple[str, ...]
    statuses: tuple[str, ...] = ("embedded",)
    is_mixed: bool = False


def invoice(page: Any) -> None:
    for number, line in enumerate(INVOICE):
        page.insert_text((70, 90 + 30 * number), line, fontsize=10 if number else 16)


def text_in(direction: str, text: str) -> Callable[[Any], None]:
    def draw(page: Any) -> None:
        page.insert_htmlbox(_BODY, f'<p dir="{direction}" style="font-size:14px">{text}</p>')

    return draw


def poster(page: Any) -> None:
    page.insert_text((60, 480), "SALE", fontsize=190, fontname="hebo")


def poster_on_colour(page: Any) -> None:
    page.draw_rect(_A4, color=None, fill=(0.8, 0.05, 0.1))
    page.insert_text((60, 480), "SALE", fontsize=190, fontname="hebo", color=(1, 1, 1))


def chapter_number(page: Any) -> None:
    page.insert_text((280, 300), "II", fontsize=40, fontname="tiro")


def one_word(page: Any) -> None:
    page.insert_text((20, 560), "Oh", fontsize=330, fontname="tiro")


def page_number(page: Any) -> None:
    page.insert_text((290, 800), "147", fontsize=9)


def header_between_rules(page: Any) -> None:
    page.draw_line((50, 60), (545, 60), width=1.5)
    page.insert_text((50, 50), "3.2 Wartung der Anlage", fontsize=10)


def letter(page: Any) -> None:
    page.insert_textbox(_BODY, LETTER * 3, fontsize=11)


def stamped(page: Any) -> None:
    letter(page)
    _insert(page, (330, 60, 540, 130), "RECEIVED 14 MAR 2024", (200, 30, 30), turn=8)


def stamped_small(page: Any) -> None:
    letter(page)
    _insert(page, (400, 80, 540, 110), "Paid in cash, 14/03", (30, 30, 160), turn=4)


def letterhead(page: Any) -> None:
    letter(page)
    _insert(page, (70, 40, 300, 80), "Marten & Sons Joiners", (20, 20, 20))


def letterhead_in_curves(page: Any) -> None:
    """Draws the company's name as outlines, as drawing programs export it."""
    letter(page)
    with pymupdf.open() as other:
        made = other.new_page(width=595, height=842)
        made.insert_text((70, 75), "Marten & Sons, joiners since 1898", fontsize=22, fontname="tiro")
        svg = made.get_svg_image(text_as_path=True)
    with pymupdf.open("pdf", pymupdf.open("svg", svg.encode()).convert_to_pdf()) as outlines:
        page.show_pdf_page(_A4, outlines, 0)


def figure_of_text(page: Any) -> None:
    letter(page)
    lines = "\n".join(
        f"{name}    {100 + 7 * number}" for number, name in enumerate(("oak", "ash", "beech", "larch"))
    )
    _insert(page, (120, 560, 420, 740), lines, (0, 0, 0))


def photograph_beside(page: Any) -> None:
    """Draws a picture without writing: the layer is all that there is to read."""
    letter(page)
    noise = Image.effect_mandelbrot((600, 400), (-2, -1.5, 1, 1.5), 60).resize((900, 600))
    data = BytesIO()
    noise.save(data, "JPEG", quality=70)
    page.insert_image(pymupdf.Rect(120, 520, 480, 740), stream=data.getvalue())


def chart_beside(page: Any) -> None:
    letter(page)
    for number in range(24):
        x = 90 + 17 * number
        page.draw_rect((x, 740 - 6 * (number * 7 % 23), x + 11, 740), color=(0, 0, 0), fill=(0.3, 0.5, 0.8))
    page.draw_line((80, 740), (510, 740))


# Another program's wrong recognition.
_RECOGNISED = 3 * LETTER.replace("2400", "24OO").replace("Friday", "Fridav")


def scanner_layer(page: Any) -> None:
    """Draws a text under a scan."""
    with pymupdf.open() as other:
        letter(other.new_page(width=595, height=842))
        page.insert_image(_A4, pixmap=other[0].get_pixmap(dpi=150))
    page.insert_textbox(_BODY, _RECOGNISED, fontsize=11, render_mode=3)


def scanner_layer_drawn_first(page: Any) -> None:
    """Draws a text under a scan without the hidden rendering mode: print, and the picture over it."""
    page.insert_textbox(_BODY, _RECOGNISED, fontsize=11)
    with pymupdf.open() as other:
        letter(other.new_page(width=595, height=842))
        page.insert_image(_A4, pixmap=other[0].get_pixmap(dpi=150))


def white_words(page: Any) -> None:
    letter(page)
    page.insert_textbox(
        (70, 600, 525, 700), "Pay the sum to another account. " * 6, fontsize=11, color=(1, 1, 1)
    )


_READ = ("ok", "doubtful")
KINDS: Mapping[str, Expected] = {
    "invoice": Expected(draw=invoice, texts=INVOICE),
    **{name: Expected(draw=text_in(way, text), texts=(text,)) for name, (way, text) in SCRIPTS.items()},
    "poster": Expected(draw=poster, texts=("SALE",)),
    "poster_on_colour": Expected(draw=poster_on_colour, texts=("SALE",)),
    "chapter_number": Expected(draw=chapter_number, texts=("II",)),
    "one_word": Expected(draw=one_word, texts=("Oh",)),
    "page_number": Expected(draw=page_number, texts=("147",)),
    "header_between_rules": Expected(draw=header_between_rules, texts=("3.2 Wartung der Anlage",)),
    "letter": Expected(draw=letter, texts=("boards of 2400 mm",)),
    # Its texture looks like letters, too.
    "photograph_beside": Expected(draw=photograph_beside, texts=("boards of 2400 mm",), is_mixed=True),
    # Bars with outlines look like a line of letters.
    "chart_beside": Expected(draw=chart_beside, texts=("boards of 2400 mm",), is_mixed=True),
    "stamped": Expected(
        draw=stamped, texts=("14 MAR", "boards of 2400 mm"), statuses=("embedded", "doubtful"), is_mixed=True
    ),
    "stamped_small": Expected(draw=stamped_small, texts=("cash", "boards of 2400 mm"), is_mixed=True),
    "letterhead": Expected(draw=letterhead, texts=("Joiners", "boards of 2400 mm"), is_mixed=True),
    "letterhead_in_curves": Expected(
        draw=letterhead_in_curves, texts=("joiners since", "boards of 2400 mm"), is_mixed=True
    ),
    "figure_of_text": Expected(draw=figure_of_text, texts=("larch", "boards of 2400 mm"), is_mixed=True),
    "scanner_layer": Expected(draw=scanner_layer, texts=("Friday",), statuses=_READ),
    "scanner_layer_drawn_first": Expected(draw=scanner_layer_drawn_first, texts=("Friday",), statuses=_READ),
    "white_words": Expected(draw=white_words, texts=("Mrs. Marten",), statuses=_READ),
}  # fmt: skip


def document(kind: Expected) -> Any:
    """Returns a pymupdf document of one page, as a reader finds it in a file."""
    with pymupdf.open() as made:
        kind.draw(made.new_page(width=_A4.width, height=_A4.height))
        return pymupdf.open("pdf", made.tobytes(no_new_id=True))


def pages(_: Workshop) -> Iterator[MadePage]:
    """Yields a page of every kind."""
    for name, kind in KINDS.items():
        with document(kind) as made:
            yield MadePage(
                name=name,
                suffix=".pdf",
                content=made.tobytes(no_new_id=True),
                statuses=frozenset(kind.statuses),
                holds=kind.texts,
            )


def _insert(
    page: Any, box: tuple[float, ...], text: str, colour: tuple[int, int, int], turn: float = 0
) -> None:
    """Puts a picture of words, as large as fits, into a box."""
    area = pymupdf.Rect(box)
    size = round(4 * area.width), round(4 * area.height)
    num_lines = text.count("\n") + 1
    height = 0.7 * size[1] / num_lines
    font = ImageFont.load_default(height)
    longest = max(font.getlength(line) for line in text.split("\n"))
    if longest > 0.9 * size[0]:
        font = ImageFont.load_default(height * 0.9 * size[0] / longest)
    picture = Image.new("RGB", size, (255, 255, 255))
    ImageDraw.Draw(picture).multiline_text((size[0] * 0.04, size[1] * 0.1), text, fill=colour, font=font)
    picture = picture.rotate(turn, Image.Resampling.BICUBIC, fillcolor=(255, 255, 255))
    data = BytesIO()
    picture.save(data, "PNG")
    page.insert_image(area, stream=data.getvalue())

"""Compose one synthetic page: HTML laid out and typeset by MuPDF, whose text layer is then the truth.

MuPDF breaks lines, kerns, justifies and forms ligatures like a real producer, in about 10 ms a page, and
the page is later rasterised by the same renderer that production pages go through.
"""

import html
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pymupdf

from ocr.training.text import TextSource, code_block, random_word
from ocr.training.truth import Sheet

MAX_CHARACTERS = 4200


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A typeface: file names by style ("regular", "bold", "italic", "bolditalic") in one folder."""

    name: str
    kind: str
    styles: dict[str, str]


class Fonts:
    """The families of one split, from `index.json` beside the font files."""

    def __init__(self, folder: Path, split: str = "train") -> None:
        self.archive = pymupdf.Archive(str(folder))
        entries = json.loads((folder / "index.json").read_text())
        self.families = [
            Family(name=e["family"], kind=e["class"], styles=e["styles"])
            for e in entries
            if e["split"] == split
        ]

    def choose(self, rng: random.Random, *kinds: str) -> Family:
        """One family of the kinds wanted; of any kind where none is."""
        return rng.choice([f for f in self.families if f.kind in kinds] or self.families)


def _face(alias: str, family: Family) -> str:
    rules = []
    for style, file in family.styles.items():
        weight = "bold" if "bold" in style else "normal"
        slant = "italic" if "italic" in style else "normal"
        rules.append(
            f"@font-face{{font-family:{alias};src:url('{file}');font-weight:{weight};font-style:{slant}}}"
        )
    return "".join(rules)


@dataclass(slots=True, kw_only=True)
class _Writer:
    """The state of one page being written: what every block builder needs."""

    rng: random.Random
    source: TextSource
    category: str
    columns: int

    def paragraph(self) -> str:
        text = html.escape(self.source.paragraph(self.rng, self.category))
        if self.rng.random() < 0.25:
            words = text.split(" ")
            start = self.rng.randrange(len(words))
            end = start + self.rng.randint(1, 6)
            tag = self.rng.choice(["b", "i", "b", "i", "code"])
            words[start:end] = [f"<{tag}>{' '.join(words[start:end])}</{tag}>"]
            text = " ".join(words)
        return f"<p>{text}</p>"

    def phrase(self, low: int, high: int) -> str:
        return html.escape(self.source.phrase(self.rng, self.category, self.rng.randint(low, high)))

    def heading(self) -> str:
        text = self.phrase(1, 8)
        if self.rng.random() < 0.15:
            text = text.upper()
        if self.rng.random() < 0.35:
            text = (
                f"{self.rng.randint(1, 12)}{self.rng.choice(['', '.', f'.{self.rng.randint(1, 12)}'])} {text}"
            )
        level = self.rng.choice([1, 2, 2, 3, 3, 4])
        return f"<h{level}>{text}</h{level}>"

    def listing(self) -> str:
        tag = self.rng.choice(["ul", "ul", "ol"])
        items = "".join(f"<li>{self.phrase(2, 22)}</li>" for _ in range(self.rng.randint(2, 8)))
        return f"<{tag}>{items}</{tag}>"

    def table(self) -> str:
        columns, rows = self.rng.randint(2, 3 if self.columns > 1 else 6), self.rng.randint(2, 12)
        numeric = [self.rng.random() < 0.6 for _ in range(columns)]

        def cell(number: bool) -> str:
            if self.rng.random() < 0.04:
                return ""
            return html.escape(random_word(self.rng)) if number else self.phrase(1, 3)

        body = "".join(
            "<tr>" + "".join(f"<td>{cell(n and row > 0)}</td>" for n in numeric) + "</tr>"
            for row in range(rows)
        )
        return f"<table>{body}</table>"

    def code(self) -> str:
        lines = code_block(self.rng, self.source.paragraphs["code"], self.rng.randint(3, 24))
        return "<pre>" + html.escape("\n".join(lines)) + "</pre>"

    def form(self) -> str:
        lines = []
        for _ in range(self.rng.randint(2, 8)):
            value = (
                random_word(self.rng)
                if self.rng.random() < 0.7
                else self.source.phrase(self.rng, self.category, 3)
            )
            lines.append(f"{self.phrase(1, 3)}: {html.escape(value)}")
        return "<p class=form>" + "<br>".join(lines) + "</p>"

    def small_print(self) -> str:
        return f"<p class=small>{html.escape(self.source.paragraph(self.rng, self.category, 400))}</p>"


def _blocks(writer: _Writer, capacity: int) -> str:
    """Enough blocks to hold about `capacity` characters."""
    rng = writer.rng
    has_code = (
        bool(writer.source.paragraphs.get("code")) and writer.columns == 1
    )  # long lines would cross columns
    table: list[tuple[Callable[[], str], float]] = [
        (writer.paragraph, 10.0),
        (writer.heading, 2.0),
        (writer.listing, rng.choice([0.3, 1.5])),
        (writer.table, rng.choice([0.0, 0.3, 2.0])),
        (writer.code, rng.choice([0.0, 0.2, 3.0]) if has_code else 0.0),
        (writer.form, rng.choice([0.0, 0.3, 2.0])),
        (writer.small_print, 0.4),
    ]
    parts, written = [], 0
    makers, weights = [m for m, _ in table], [w for _, w in table]
    while written < capacity:
        part = rng.choices(makers, weights)[0]()
        parts.append(part)
        written += len(part) + 20
    return "".join(parts)


def _style(rng: random.Random, fonts: Fonts, size_pt: float) -> str:
    body = fonts.choose(rng, *(["serif"] * 1 if rng.random() < 0.5 else ["sans", "display", "serif"]))
    if rng.random() < 0.07:
        body = fonts.choose(rng, "mono")
    head = body if rng.random() < 0.6 else fonts.choose(rng, "serif", "sans", "display")
    mono = fonts.choose(rng, "mono")
    align = "justify" if rng.random() < 0.5 else rng.choice(["left", "left", "left", "center"])
    indent = f"text-indent:{rng.choice([1, 1.5, 2])}em;margin:0;" if rng.random() < 0.4 else ""
    border = rng.choice(["", "border:1px solid black;", "border-bottom:1px solid #888;"])
    slant = "font-style:italic;" if rng.random() < 0.06 else ""
    weight = "font-weight:bold;" if rng.random() < 0.05 else ""
    colour = f"color:#{''.join(rng.choices('01234567', k=6))};" if rng.random() < 0.15 else ""
    return (
        _face("body", body) + _face("head", head) + _face("mono", mono) + f"body{{font-family:body;"
        f"font-size:{size_pt:.2f}pt;line-height:{rng.uniform(1.05, 1.5):.2f};{slant}{weight}{colour}}}"
        f"p{{text-align:{align};margin:{rng.uniform(0.2, 1.0):.2f}em 0;{indent}}}"
        f"h1,h2,h3,h4{{font-family:head;text-align:{rng.choice(['left', 'left', 'center'])};text-indent:0}}"
        f"h1{{font-size:{rng.uniform(1.4, 2.2):.2f}em}}h2{{font-size:{rng.uniform(1.2, 1.6):.2f}em}}"
        f"h3{{font-size:1.1em}}h4{{font-size:1em;{rng.choice(['font-style:italic', ''])}}}"
        f"pre,code{{font-family:mono;font-size:{rng.uniform(0.75, 0.95):.2f}em}}"
        f"td{{{border}padding:{rng.randint(1, 5)}px}}.small{{font-size:{rng.uniform(0.7, 0.85):.2f}em;text-indent:0}}"
        ".form{text-align:left;text-indent:0}"
    )


def _place(device: object, markup: str, css: str, fonts: Fonts, boxes: list[pymupdf.Rect]) -> None:
    story = pymupdf.Story(markup, user_css=css, archive=fonts.archive)
    for box in boxes:
        more, _ = story.place(box)
        story.draw(device)
        if not more:
            return


def _furniture(rng: random.Random, writer: _Writer) -> str:
    number = rng.choice(
        [str(rng.randrange(1, 900)), f"Page {rng.randrange(1, 99)}", f"– {rng.randrange(1, 99)} –"]
    )
    text = number if rng.random() < 0.6 else writer.phrase(2, 7) + " " + number
    align = rng.choice(["left", "center", "right"])
    return f'<p class=small style="text-align:{align};margin:0">{text}</p>'


def compose(
    rng: random.Random,
    source: TextSource,
    fonts: Fonts,
    *,
    width_pt: float,
    height_pt: float,
    size_pt: float,
    columns: int = 1,
    fill: float = 1.0,
    furniture: bool = True,
    category: str | None = None,
) -> Sheet:
    """A sheet of the given size; its text layer holds the truth in reading order.

    category: of the text source; None draws one.
    """
    css = _style(rng, fonts, size_pt)
    writer = _Writer(rng=rng, source=source, category=category or source.category(rng), columns=columns)
    if writer.category == "code":
        writer.category = "en_tech"
    low = 0.02 if width_pt < 400 else 0.06
    left, right, top, bottom = (rng.uniform(low, 0.13) for _ in range(4))
    frame = pymupdf.Rect(left * width_pt, top * height_pt, (1 - right) * width_pt, (1 - bottom) * height_pt)
    capacity = min(MAX_CHARACTERS, int(frame.width * frame.height / (size_pt**2 * 0.62) * fill) + 10)
    gap = rng.uniform(1.0, 3.0) * size_pt
    step = (frame.width + gap) / columns
    boxes = [
        pymupdf.Rect(frame.x0 + i * step, frame.y0, frame.x0 + (i + 1) * step - gap, frame.y1)
        for i in range(columns)
    ]
    if columns == 1:
        boxes = [frame]
    # A display list, not a PDF: written to a PDF, some fonts' ligatures come back as other characters.
    drawn = pymupdf.mupdf.FzDisplayList(pymupdf.mupdf.FzRect(0, 0, width_pt, height_pt))
    device = pymupdf.DeviceWrapper(drawn)
    band = size_pt * 1.6
    if furniture and rng.random() < 0.3:
        box = pymupdf.Rect(frame.x0, max(2, frame.y0 - 1.5 * band), frame.x1, frame.y0 - 0.3 * band)
        _place(device, _furniture(rng, writer), css, fonts, [box])
    _place(device, _blocks(writer, capacity), css, fonts, boxes)
    if furniture and rng.random() < 0.5:
        box = pymupdf.Rect(
            frame.x0, frame.y1 + 0.4 * band, frame.x1, min(height_pt - 1, frame.y1 + 1.8 * band)
        )
        _place(device, _furniture(rng, writer), css, fonts, [box])
    pymupdf.mupdf.fz_close_device(device.this)
    return Sheet(display=pymupdf.DisplayList(drawn), width_pt=width_pt, height_pt=height_pt)

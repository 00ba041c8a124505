"""Tables of contents: titles on several levels, leaders of many kinds, page numbers at the right edge or elsewhere."""

from dataclasses import dataclass

from ocr.training.pages.matter.page_writer import Writer

_DOTS = [".", ".", ".", " .", " .", " .", " \u00a0.", " \u00a0.", " \u00a0\u00a0.", " .\u00a0."]
_OTHERS = ["·", " ·", "_", "-", " -", "…", " •"]
_NONE = ["", "", "\u00a0"]
_HEADS = [
    "Contents", "Table of Contents", "CONTENTS", "Inhalt", "Inhaltsverzeichnis", "Table des matières", "Índice",
    "Sommaire", "Indice", "Spis treści", "Obsah", "Innehåll", "List of Figures", "List of Tables", "Figures",
]  # fmt: skip
_ROMAN = [
    "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv", "xvi",
]  # fmt: skip
_BOLD = 1.25  # how much wider bold text is, at most


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """The look of a table of contents. leaders, indents_em: of each level. bold: levels in bold type.

    gap: between number and title. edge: how a line is filled up to the right edge: "text" by leaders alone; "page" with
    the page number flush right; "dots" with the leaders flush right too. spread: air above a line of the first level.
    """

    leaders: tuple[str, ...]
    bold: frozenset[int]
    indents_em: tuple[float, ...]
    gap: str
    edge: str
    spread: str


def _look(w: Writer) -> _Look:
    rng = w.rng
    leader = rng.choice(rng.choices([_DOTS, _OTHERS, _NONE], [7, 1, 2])[0])
    leaders = [leader] * 3
    if w.chance(0.45):
        leaders[0] = ""
    if w.chance(0.1):
        leaders[2] = ""
    if w.chance(0.06):
        leaders = [rng.choice(_DOTS), rng.choice(_DOTS), ""]
        rng.shuffle(leaders)
    step = rng.choice([0.0, 1.0, 1.5, 1.5, 2.2])
    return _Look(
        leaders=tuple(leaders),
        bold=frozenset([0] if w.chance(0.6 if leaders[0] != leader else 0.15) else []),
        indents_em=(0.0, step, rng.choice([step, 2 * step, 2 * step])),
        gap=rng.choice([" ", " ", "\u00a0 ", "\u00a0\u00a0\u00a0 ", ". ", "\u2003"]),
        edge=rng.choice(["text", "text", "page", "dots"]),
        spread=rng.choice(["", "", "margin-top:0.5em;", "margin-top:0.9em;"]),
    )


def contents(w: Writer) -> str:
    """Returns lines of a table of contents: title, leader, page number."""
    rng, entries, page = w.rng, "", w.number(2)
    look, numbered, long = _look(w), w.chance(0.7), w.chance(0.3)
    word = rng.choice(["", "", "", "", "Chapter ", "Part ", "Kapitel ", "Abb. ", "Figure "])
    counts = [rng.randint(1, 9), 0, 0]
    labels = rng.choices(["number", "roman", "chapter"], [12, 1, 1])[0]
    for _ in range(rng.randint(4, 26)):
        page += rng.randint(0, 12)
        level = rng.choice([0, 1, 1, 2]) if w.chance(0.8) else 0
        level = level if counts[1] else min(level, 1)  # no 3.0.1
        counts[level] += 1
        counts[level + 1 :] = [0] * (2 - level)
        number = ".".join(map(str, counts[: level + 1])) + look.gap if numbered else ""
        title = (word if level == 0 else "") + number + w.words(1, 12 if long else 5)
        label = _page(labels, page, counts[0])
        above, title = _broken(w, title, look.indents_em[level])
        entries += _line(f"<b>{above}</b>" if level in look.bold else above, look, level) if above else ""
        entries += _filled(w, title, label, look, level)
    return f"<h1>{rng.choice(_HEADS)}</h1>{entries}" if w.chance(0.5) else entries


def _page(labels: str, page: int, chapter: int) -> str:
    if labels == "roman" and page <= len(_ROMAN):
        return _ROMAN[page - 1]
    return f"{chapter}-{page % 40 + 1}" if labels == "chapter" else str(page)


def _broken(w: Writer, title: str, indent_em: float) -> tuple[str, str]:
    """Returns the parts of an overlong title: the lines above, and the text on the line with the page number."""
    room_pt = 0.8 * (w.width_pt - indent_em * w.size_pt)
    words = title.split(" ")
    if w.measure(title) <= room_pt or len(words) < 3:
        return "", title
    end = next(
        (i for i in range(2, len(words)) if w.measure(" ".join(words[: i + 1])) > room_pt), len(words) - 1
    )
    return " ".join(words[:end]), " ".join(words[end:])


def _line(text: str, look: _Look, level: int) -> str:
    above = "" if level else look.spread
    return f"<p class=line style='margin-left:{look.indents_em[level]}em;{above}'>{text}</p>"


def _filled(w: Writer, text: str, page: str, look: _Look, level: int) -> str:
    """Returns a line filled up to the right edge: as many leaders as its measured width leaves room for."""
    indent_em, leader, bold = look.indents_em[level], look.leaders[level], level in look.bold
    free = w.width_pt - indent_em * w.size_pt - (w.measure(text) + w.measure(page)) * (_BOLD if bold else 1.0)
    if free < 2 * w.measure("m"):
        return f"<p class=left style='margin:0'>{text} {page}</p>"
    if bold:
        text, page = f"<b>{text}</b>", f"<b>{page}</b>"
    fill = ""
    step = w.measure(leader) if leader else 1.0
    if leader.strip() and free > 6 * step:
        # Room for a space on each side; one step less, for what kerning changes.
        fill = (leader * int((free - 2 * w.measure(" ")) / step * 0.985 - 1)).strip()
        if look.edge == "text":
            return _line(f"{text} {fill} {page}", look, level)
    last = f"<td style='text-align:right'>{page}</td>"
    cells = f"<td style='padding-left:{indent_em}em'>{text}"
    if fill and look.edge == "dots":
        cells += f"</td><td style='text-align:right'>{fill}</td>{last}"
    else:
        cells += f" {fill}</td>{last}" if fill else f"</td>{last}"
    return f"<table class=plain style='width:100%'><tr>{cells}</tr></table>"

"""Business papers: forms, invoices and letters; and tables whose cells take several lines, in prose and in code."""

import html
import string

from ocr.training.pages.matter.page_writer import Writer
from ocr.training.pages.matter.prose import heading, paragraph
from ocr.training.pages.tabular.slips import amount
from ocr.training.pages.tabular.tables import captioned, grid, table
from ocr.training.pages.words.nonce import alike, stem

_PADDING_PT = 13.0  # both sides of a cell, at most, with its rule
_BOLD = 1.15  # how much wider bold text is


def wrapped(w: Writer) -> str:
    """Returns cells of one to four lines in two to six columns."""
    rng = w.rng
    scale = rng.choice([1.0, 1.0, 1.0, 0.9, 0.8])
    count = rng.randint(2, max(2, min(6, int(w.width_pt / (w.size_pt * scale * 6.5)))))
    percents = _percents(w, count)
    rooms = [(percent * w.width_pt / 100 - _PADDING_PT) / scale for percent in percents]
    lines = [rng.choice([0.8, 1.6, 2.6, 3.6]) for _ in range(count)]
    code = [w.chance(0.35) for _ in range(count)]
    code[-1 if w.chance(0.7) else rng.randrange(count)] = False
    words = [
        *alike(rng, 20),
        *(f"-{rng.choice(string.ascii_letters)}" for _ in range(5)),
        "ALL",
        "|",
        stem(rng),
    ]
    rows = [[_fitted(w, w.words(1, 3).split(" "), room / _BOLD, 2, code=False) for room in rooms]]
    for _ in range(rng.randint(3, 14)):
        row = []
        for number, (room, most, typed) in enumerate(zip(rooms, lines, code, strict=True)):
            text = rng.choices(words, k=rng.randint(1, 6)) if typed else w.words(1, 16).split(" ")
            cell = _fitted(w, list(map(html.unescape, text)), room, most, code=typed)
            row.append("" if number and w.chance(0.04) else f"<code>{cell}</code>" if typed else cell)
        rows.append(row)
    return captioned(w, grid(w, rows, [False] * count, percents=percents, scale=scale), share=0.2)


def _percents(w: Writer, count: int) -> list[int]:
    weights = [w.rng.choice([1.0, 1.0, 1.6, 2.4]) for _ in range(count)]
    percents = [int(100 * max(0.6 / count, weight / sum(weights))) for weight in weights]
    return [percent * 100 // max(100, sum(percents)) for percent in percents]


def _fitted(w: Writer, words: list[str], room_pt: float, lines: float, *, code: bool) -> str:
    """Returns as many of the words as fill about this many lines, each cut to the width of a line; escaped."""
    measure = w.measure_code if code else w.measure
    kept: list[str] = []
    free = lines * room_pt
    for word in words:
        width = measure(html.escape(word))
        if width > room_pt:
            word = word[: max(1, int(len(word) * room_pt / width * 0.9))]
            width = room_pt
        free -= width + measure("n")
        if kept and free < 0:
            break
        kept.append(word)
    return html.escape(" ".join(kept))


_GREETINGS = [
    "Dear Sir or Madam,", "Dear {},", "Hello {},", "Sehr geehrte Damen und Herren,", "Madame, Monsieur,",
    "Chère Madame,", "Estimado señor {}:", "Gentile dottoressa {},", "Vážený pane {},", "Kære {},",
    "Szanowna Pani,", "Tisztelt {}!", "Prezado Senhor,", "Hyvä {},", "Bästa {},", "Stimată doamnă,",
]  # fmt: skip
_CLOSINGS = [
    "Yours sincerely,", "Yours faithfully,", "Kind regards,", "Mit freundlichen Grüßen", "Cordialement,",
    "Veuillez agréer, Madame, l’expression de mes sentiments distingués.", "Atentamente,", "Cordiali saluti,",
    "S pozdravem", "Z poważaniem,", "Üdvözlettel,", "Com os melhores cumprimentos,", "Med vänlig hälsning",
]  # fmt: skip
_MONTHS = [
    "March", "May", "July", "August", "December", "février", "août", "März", "março", "září", "października",
]  # fmt: skip


def form(w: Writer) -> str:
    """Returns fields with their values, blanks to fill in and boxes to tick."""
    rng, lines = w.rng, []
    for _ in range(rng.randint(2, 8)):
        label, draw = w.words(1, 3), rng.random()
        if draw < 0.12:
            lines.append(f"{label}: {'_' * rng.randint(5, 18)}")
        elif draw < 0.24:
            choices = " ".join(f"{rng.choice('☐☐☑□')} {w.words(1, 2)}" for _ in range(rng.randint(1, 3)))
            lines.append(f"{label}: {choices}")
        else:
            value = w.value() if w.chance(0.6) else w.words(1, 4)
            lines.append(f"{label}: {f'<b>{value}</b>' if w.chance(0.15) else value}")
    return f"<p class=left>{'<br>'.join(lines)}</p>"


def _positions(w: Writer) -> list[list[str]]:
    """Returns the rows of an invoice: head, positions, sum."""
    rng, comma, total = w.rng, w.chance(0.4), 0.0
    first, second = rng.choice(["Item", "Pos.", "Description"]), rng.choice(["Qty", "Menge"])
    rows = [[first, second, "Price", rng.choice(["Amount", "Total"])]]
    for _ in range(rng.randint(1, 9)):
        count, price = rng.randint(1, 40), rng.randint(50, 99999) / 100
        total += count * price
        rows.append(
            [w.words(1, 3), str(count), amount(price, comma=comma), amount(count * price, comma=comma)]
        )
    due = rng.choice(["$", "€", "£", "", "EUR "]) + amount(total, comma=comma)
    return [*rows, [rng.choice(["Total", "Sum", "Gesamt"]), "", "", due]]


def invoice(w: Writer) -> str:
    """Returns a sender, numbers and dates, positions with amounts, and their sum."""
    rng = w.rng
    word = rng.choice(["Invoice", "INVOICE", "Rechnung", "Facture", "Order", "Quotation"])
    number = f"{rng.choice(['No.', 'Nr.', '#'])} {rng.randint(1000, 999999)}"
    head = f"<p class=left>{_address(w)}</p><h2>{word} {number}</h2>{form(w)}"
    return head + grid(w, _positions(w), [False, True, True, True]) + (paragraph(w) if w.chance(0.5) else "")


def _address(w: Writer) -> str:
    rng = w.rng
    lines = [w.words(2, 3), f"{w.words(1, 2)} {w.number(3)}", f"{rng.randint(1000, 99999)} {w.words(1, 1)}"]
    return "<br>".join(lines if w.chance(0.7) else [*lines, w.value()])


def letter(w: Writer) -> str:
    rng = w.rng
    greeting = rng.choice(_GREETINGS).format(w.words(1, 2))
    head = f"<p class=left>{_address(w)}</p>"
    if w.chance(0.5):
        head = f"<p class=right>{_address(w)}</p>{head}"
    place = f"{w.words(1, 1)}, {rng.randint(1, 31)} {rng.choice(_MONTHS)} {rng.randint(1950, 2030)}"
    body = [paragraph(w) for _ in range(rng.randint(1, 4))]
    if w.chance(0.45):
        body.insert(rng.randint(1, len(body)), rng.choice([table, wrapped])(w))
    return (
        f"{head}<p class={rng.choice(['left', 'right'])}>{place}</p>{heading(w) if w.chance(0.3) else ''}"
        f"<p class=left>{greeting}</p>{''.join(body)}<p class=left>{rng.choice(_CLOSINGS)}</p>"
        f"<p class=left>{w.words(2, 3)}</p>"
    )

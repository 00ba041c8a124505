"""Slips of tills and card readers: shop, dates and numbers, goods in many forms, sums, taxes, small talk."""

import html
import string
from dataclasses import dataclass

from ocr.training.pages.matter.html_blocks import Block, Writer
from ocr.training.pages.tabular.receipts import amount

_TAX = ["VAT", "GST", "Tax", "MwSt", "TVA", "IVA", "PTU", "DPH", "BTW", "Moms", "SALES TAX"]
_TOTAL = [
    "TOTAL", "Total", "GRAND TOTAL", "AMOUNT DUE", "Balance", "SUMME EUR", "A PAYER", "TOTALE", "SUMA PLN", "CELKEM",
    "NET TOTAL", "TOTAL SALES (INCL TAX)", "Total incl. GST", "Att betala", "Bedrag",
]  # fmt: skip
_PAID = [
    "CASH", "Cash", "CARD", "VISA", "MASTERCARD", "DEBIT", "Bar", "ESPECES", "CONTANTI", "Gotówka", "EFTPOS",
]  # fmt: skip
_CHANGE = ["CHANGE", "Change", "Rückgeld", "RENDU", "RESTO", "Change Due", "Reszta"]
_FIELDS = [
    "Date", "Time", "Cashier", "Terminal", "TID", "MID", "Receipt No", "Bill No.", "Table", "Covers", "Ref",
    "AUTH CODE", "APPR", "Order", "Invoice", "Kasse", "Bon-Nr.", "Server", "Member", "Batch", "RRN", "AID", "Counter",
    "SALESPERSON",
]  # fmt: skip
_SAID = [
    "THANK YOU", "Thank you for shopping with us!", "PLEASE COME AGAIN", "Goods sold are not returnable",
    "Vielen Dank für Ihren Einkauf", "Merci de votre visite", "Gracias por su compra", "Grazie e arrivederci",
    "Dziękujemy", "CUSTOMER COPY", "*** APPROVED ***", "NO SIGNATURE REQUIRED",
    "Keep this receipt as proof of purchase",
    "Exchange within 7 days with receipt", "www.{}.com", "Follow us @{}", "TAX INVOICE",
    "DUPLICATE",
    "- {} -",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slip:
    """The print of one till. width: in characters. capitals: nothing but those."""

    w: Writer
    width: int
    comma: bool
    capitals: bool
    currency: str

    def text(self, low: int, high: int) -> str:
        words = html.unescape(self.w.words(low, high))
        return words.upper() if self.capitals else words

    def sides(self, left: str, right: str) -> str:
        left = left[: max(1, self.width - len(right) - 1)]
        return left + right.rjust(self.width - len(left))

    def centred(self, text: str) -> str:
        return text[: self.width].strip().center(self.width).rstrip()

    def money(self, value: float, *, marked: bool = False) -> str:
        return (self.currency if marked else "") + amount(value, comma=self.comma)

    def digits(self, low: int, high: int) -> str:
        return "".join(self.w.rng.choices(string.digits, k=self.w.rng.randint(low, high)))

    def ruler(self) -> str:
        return (self.w.rng.choice(["-", "=", "*", "- ", "_", ".", "#"]) * self.width)[: self.width].rstrip()


def slip(w: Writer) -> list[Block]:
    """A slip in a monospaced column: parts in their usual order, some left out."""
    made = _Slip(
        w=w,
        width=max(18, min(48, w.fits())),
        comma=w.chance(0.35),
        capitals=w.chance(0.4),
        currency=w.rng.choice(["", "", "$", "€", "£", "RM ", "EUR ", "CHF ", "kr ", "zł "]),
    )
    goods, total = _goods(made)
    parts = [
        _head(made),
        _fields(made),
        goods,
        _sums(made, total),
        _taxes(made, total),
        _fields(made),
        _end(made),
    ]
    kept = [part for number, part in enumerate(parts) if number in (0, 2, 3) or w.chance(0.5)]
    lines: list[str] = []
    for part in kept:
        if lines and w.chance(0.7):
            lines.append(made.ruler() if w.chance(0.65) else "")
        lines += part
    text = html.escape("\n".join(line or " " for line in lines))
    return [Block(kind="text", html=f"<pre>{text}</pre>")]


def _head(s: _Slip) -> list[str]:
    rng = s.w.rng
    lines = [
        s.text(1, 3).upper(),
        s.text(2, 5),
        f"{s.digits(1, 3)} {s.text(1, 3)}",
        f"{s.digits(4, 6)} {s.text(1, 2)}",
    ]
    tail = [
        f"{rng.choice(['Tel', 'TEL:', 'Phone', 'Tél.'])} {s.digits(2, 4)}-{s.digits(5, 8)}",
        f"{rng.choice(['GST No', 'VAT Reg', 'USt-IdNr.', 'NIP', 'SIRET', 'P.IVA', 'Co. Reg. No.'])}: {s.digits(8, 12)}",
    ]
    chosen = [*lines[: rng.randint(1, 4)], *rng.sample(tail, rng.randint(0, 2))]
    return (
        [s.centred(line) for line in chosen] if rng.random() < 0.75 else [line[: s.width] for line in chosen]
    )


def _value(s: _Slip, name: str) -> str:
    rng = s.w.rng
    if name == "Date":
        year = f"{rng.choice(['20', ''])}{rng.randint(10, 29)}"
        return rng.choice("/.-").join((f"{rng.randint(1, 31):02}", f"{rng.randint(1, 12):02}", year))
    if name == "Time":
        end = rng.choice(["", "", f":{rng.randint(0, 59):02}", " PM"])
        return f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}{end}"
    if name in ("Cashier", "Server", "Member", "SALESPERSON"):
        return s.text(1, 1)
    return rng.choice(
        [s.digits(1, 8), f"{rng.choice(string.ascii_uppercase)}{s.digits(2, 9)}", f"#{s.digits(2, 5)}"]
    )


def _fields(s: _Slip) -> list[str]:
    rng, colon = s.w.rng, s.w.rng.choice([":", ": ", " : ", " "])
    names, lines = rng.sample(_FIELDS, rng.randint(1, 6)), []
    spread = rng.random() < 0.4
    for name in names:
        value = _value(s, name)
        lines.append(s.sides(name + colon.rstrip(), value) if spread else f"{name}{colon}{value}"[: s.width])
    return lines


def _goods(s: _Slip) -> tuple[list[str], float]:
    """The lines of what was bought, all in one form, and what it costs."""
    rng, total, lines = s.w.rng, 0.0, []
    form, mark = rng.randrange(6), rng.choice(["", "", " A", " T", "*", " SR", " 1"])
    if form in (1, 3) and rng.random() < 0.6:
        lines.append(
            s.sides(
                rng.choice(["QTY ITEM", "Qty Description", "Pos Artikel", "Item"]),
                rng.choice(["AMT", "Price", "EUR", "RM"]),
            )
        )
    for _ in range(rng.randint(1, 18)):
        count, price = rng.choice([1, 1, 1, 2, 3, 6, 12]), rng.randint(5, 19999) / 100
        cost, name = count * price, s.text(1, 4)
        total += cost
        if form == 0:
            lines.append(s.sides(name, s.money(cost) + mark))
        elif form == 1:
            lines.append(s.sides(f"{count} {name}", s.money(cost) + mark))
        elif form == 2:  # the code first, amounts below
            lines += [
                name[: s.width],
                s.sides(f" {s.digits(6, 13)} {count} x {s.money(price)}", s.money(cost) + mark),
            ]
        elif form == 3:
            lines.append(
                s.sides(
                    f"{count:>2}x {name}",
                    f"{s.money(price)} {s.money(cost)}" if s.width > 34 else s.money(cost),
                )
            )
        elif form == 4:
            lines += [s.sides(name, s.money(cost, marked=True))] + (
                [f"   {count} @ {s.money(price)}"] if count > 1 else []
            )
        else:
            lines.append(s.sides(f"{s.digits(4, 8)} {name}", s.money(cost) + mark))
        if rng.random() < 0.05:
            lines.append(
                s.sides(
                    rng.choice(["  Discount", "  Rabatt", "  Remise", "  SAVE"]), "-" + s.money(cost / 10)
                )
            )
    return lines, total


def _sums(s: _Slip, total: float) -> list[str]:
    rng, paid = s.w.rng, total * s.w.rng.uniform(1, 1.3)
    before = [
        s.sides(rng.choice(["Subtotal", "SUB-TOTAL", "Zwischensumme", "Sous-total"]), s.money(total)),
        s.sides("Rounding", s.money(rng.choice([-0.02, -0.01, 0.0, 0.01, 0.02]))),
        s.sides(rng.choice(["Items", "Item count", "Artikel", "Qty"]), str(rng.randint(1, 30))),
        s.sides("Service 10%", s.money(total / 10)),
    ]
    after = [s.sides(rng.choice(_PAID), s.money(paid)), s.sides(rng.choice(_CHANGE), s.money(paid - total))]
    main = s.sides(rng.choice(_TOTAL), s.money(total, marked=True))
    return [*rng.sample(before, rng.randint(0, 2)), main, *after[: rng.randint(0, 2)]]


def _taxes(s: _Slip, total: float) -> list[str]:
    rng, name = s.w.rng, s.w.rng.choice(_TAX)
    rates = rng.sample([0, 5, 6, 7, 8, 9, 10, 19, 20, 21, 23, 25], rng.randint(1, 2))
    lines = []
    for letter, rate in zip("AB", rates, strict=False):
        tax = total * rate / (100 + rate) / len(rates)
        lines.append(
            s.sides(f"{letter} {name} {rate}%", f"{s.money(total / len(rates) - tax)} {s.money(tax)}")
        )
    return lines


def _end(s: _Slip) -> list[str]:
    rng = s.w.rng
    said = [
        text.format(html.unescape(s.w.words(1, 1)).lower()) for text in rng.sample(_SAID, rng.randint(1, 3))
    ]
    lines = [s.centred(text) for text in said]
    return [*lines, s.centred(s.digits(10, 20))] if rng.random() < 0.3 else lines

"""Receipts: a till's slip, goods at the left and amounts at the right of a narrow monospaced column."""

import html
from dataclasses import dataclass

from ocr.training.pages.matter.html_blocks import Block, Writer

_CURRENCIES = ["$", "€", "£", "", "", "EUR ", "USD "]
_TOTALS = ["TOTAL", "Total", "SUMME", "AMOUNT DUE"]
_THANKS = ["Thank you!", "*** THANK YOU ***", "Vielen Dank", "Merci de votre visite"]


def amount(value: float, *, comma: bool = False) -> str:
    """Returns an amount with two decimals and thousands separators, the German way round if `comma`."""
    text = f"{value:,.2f}"
    return text.translate(str.maketrans(",.", ".,")) if comma else text


@dataclass(frozen=True, slots=True, kw_only=True)
class _Till:
    """The layout of one till. width: in characters."""

    w: Writer
    width: int
    comma: bool
    currency: str

    def line(self, left: str, value: float, before: str = "", after: str = "") -> str:
        right = before + amount(value, comma=self.comma) + after
        left = left[: max(1, self.width - len(right) - 1)]
        return left + " " * (self.width - len(left) - len(right)) + right

    def centred(self, text: str) -> str:
        return text[: self.width].strip().center(self.width).rstrip()

    def head(self) -> list[str]:
        w = self.w
        shop = [
            w.words(1, 3).upper(),
            f"{w.words(1, 2)} {w.number(3)}",
            f"Tel. {w.rng.randint(10000, 9999999)}",
        ]
        return [self.centred(html.unescape(text)) for text in shop[: w.rng.randint(1, 3)]]

    def goods(self) -> tuple[list[str], float]:
        """Returns the lines of the goods bought, and their total."""
        rng, lines, total = self.w.rng, [], 0.0
        for _ in range(rng.randint(2, 16)):
            price, count = rng.randint(5, 9999) / 100, rng.choice([1, 1, 1, 2, 3])
            total += count * price
            if count > 1 and self.w.chance(0.6):
                lines.append(f"  {count} x {amount(price, comma=self.comma)}"[: self.width])
            name = html.unescape(self.w.words(1, 3))
            lines.append(self.line(name, count * price, after=rng.choice(["", "", " A"])))
        return lines, total

    def sums(self, total: float) -> list[str]:
        rng = self.w.rng
        rate = rng.choice([5, 7, 19, 20, 21])
        net = total / (1 + rate / 100)
        lines = [
            self.line("Subtotal", net),
            self.line(f"{rng.choice(['VAT', 'Tax', 'MwSt', 'TVA'])} {rate}%", total - net),
            self.line(rng.choice(_TOTALS), total, before=self.currency),
            self.line(rng.choice(["CASH", f"VISA ****{rng.randint(1000, 9999)}"]), total),
        ]
        return lines[rng.randint(0, 2) :]

    def ruler(self) -> str:
        pattern = self.w.rng.choice(["-", "=", "*", "- ", " "])
        return (pattern * self.width)[: self.width].rstrip()

    def end(self) -> list[str]:
        rng = self.w.rng
        day = f"{rng.randint(1, 31):02}.{rng.randint(1, 12):02}.{rng.randint(1990, 2030)}"
        time = f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}"
        return [f"{day} {time}"[: self.width], self.centred(rng.choice(_THANKS))]


def receipt(w: Writer) -> list[Block]:
    width = max(18, min(44, w.fits()))
    till = _Till(w=w, width=width, comma=w.chance(0.4), currency=w.rng.choice(_CURRENCIES))
    goods, total = till.goods()
    ruler = till.ruler()
    lines = [*till.head(), ruler, *goods, ruler, *till.sums(total), ruler, *till.end()]
    text = html.escape("\n".join(line or " " for line in lines))
    return [Block(kind="text", html=f"<pre>{text}</pre>")]

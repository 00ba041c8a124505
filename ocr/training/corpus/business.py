"""Makes up names, addresses, dates, amounts and codes of many countries, with Faker: of no real person."""

import lzma
import random
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import yaml
from faker import Faker

_TABLE = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
PARAGRAPHS = 9000
_SEED = 20261
_DAYS = datetime(1936, 1, 1), datetime(2035, 1, 1)


class LocaleWriter:
    """Writes short pieces in the manner of one locale."""

    def __init__(self, locale: str, rng: random.Random) -> None:
        self._fake, self._rng = Faker(locale), rng
        self._fake.seed_instance(rng.getrandbits(64))
        self._points = _TABLE["points"].get(locale) or _TABLE["points"].get(locale[:2], ".,")

    def amount(self, most: int = 6) -> str:
        """Returns an amount of money with the locale's marks, sometimes with its currency."""
        whole, cents = self._rng.randrange(10 ** self._rng.randint(1, most)), self._rng.randrange(100)
        sign: str = self._rng.choice(_TABLE["signs"])
        number = f"{whole:,}".replace(",", self._points[0]) + f"{self._points[1]}{cents:02}"
        if sign in ("€", "Kč ", "zł ", "kr ") and self._rng.random() < 0.7:
            return f"{number} {sign.strip()}"
        return sign + number

    def date(self) -> str:
        """Returns a date or a moment."""
        day = self._fake.date_time_between_dates(*_DAYS)
        clock = day.strftime(self._rng.choice((" %H:%M", " %H.%M", " %H:%M:%S")))
        date = day.strftime(self._rng.choice(_TABLE["dates"]))
        return str(date + clock if self._rng.random() < 0.2 else date)

    def code(self) -> str:
        """Returns a number of an account, a parcel, an article or a contract."""
        draw, fake = self._rng.random(), self._fake
        if draw < 0.15:
            return str(fake.iban())
        if draw < 0.22:
            return str(fake.ean13())
        if draw < 0.3:
            return str(fake.phone_number())
        return str(fake.bothify(self._rng.choice(_TABLE["codes"])).upper())

    def paragraph(self) -> str:
        """Returns one paragraph of a kind drawn at random."""
        kinds: tuple[Callable[[], str], ...] = (
            self._person, self._person, self._firm, self._firm, self._ledger, self._ledger, self._letter, self._agenda,
        )  # fmt: skip
        return " ".join(self._rng.choice(kinds)().split())

    def _person(self) -> str:
        fake = self._fake
        parts = [
            fake.name(),
            fake.address().replace("\n", ", "),
            fake.phone_number(),
            fake.email(),
            self.date(),
        ]
        parts = self._rng.sample(parts, self._rng.randint(2, 5))
        return self._rng.choice((", ", "; ", " · ", " – ")).join(parts)

    def _firm(self) -> str:
        fake = self._fake
        text = f"{fake.company()}, {fake.address()}".replace("\n", ", ")
        return f"{text}, {fake.domain_name()}, {self.code()}, {self.code()}"

    def _ledger(self) -> str:
        rows = (
            f"{self.date()} {self._fake.last_name()} {self.code()} {self.amount()}"
            for _ in range(self._rng.randint(1, 5))
        )
        return "; ".join(rows)

    def _letter(self) -> str:
        fake = self._fake
        return (
            f"{fake.city()}, {self.date()}. {fake.name()}, {fake.job()}, {fake.company()}: {self.code()}, "
            f"{self.amount()} ({self._rng.randint(1, 99)} %), {self.date()}, {fake.name()}."
        )

    def _agenda(self) -> str:
        rows = (
            f"{self._rng.randint(0, 23):02}{self._rng.choice(':.h')}{self._rng.randrange(60):02} {self._fake.name()}, "
            f"{self._fake.street_address()}"
            for _ in range(self._rng.randint(2, 5))
        )
        return ", ".join(row.replace("\n", ", ") for row in rows)


def paragraphs(count: int, characters: str, seed: int = _SEED) -> list[str]:
    """Returns paragraphs all of whose characters are known. characters: without the space."""
    rng, known = random.Random(seed), {*characters, " "}
    writers = [LocaleWriter(locale, rng) for locale in _TABLE["locales"]]
    found: list[str] = []
    while len(found) < count:
        made = rng.choice(writers).paragraph()
        if known.issuperset(made):
            found.append(made)
    return found


def build_business(file: Path, characters: str) -> dict[str, object]:
    """Writes the paragraphs to a text of the corpus; returns what the manifest says of them."""
    data = "\n\n".join(paragraphs(PARAGRAPHS, characters)).encode() + b"\n"
    file.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
    return {"paragraphs": PARAGRAPHS, "bytes": len(data)}

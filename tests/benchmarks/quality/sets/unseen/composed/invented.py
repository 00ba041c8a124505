"""Invents names, sums, dates and sentences for letters, forms and receipts."""

import random
from dataclasses import dataclass
from pathlib import Path

import yaml

_TABLE = Path(__file__).with_name("words.yaml")
_MONTHS = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Invented:
    """words: lists by kind, as in `words.yaml`."""

    rng: random.Random
    words: dict[str, list[str]]

    @classmethod
    def of(cls, rng: random.Random) -> "Invented":
        return cls(rng=rng, words=yaml.safe_load(_TABLE.read_text(encoding="utf-8")))

    def one(self, kind: str) -> str:
        return self.rng.choice(self.words[kind])

    def some(self, kind: str, count: int) -> list[str]:
        return self.rng.sample(self.words[kind], count)

    def name(self) -> str:
        return f"{self.one('given')} {self.one('surname')}"

    def company(self) -> str:
        return f"{self.one('company')} {self.one('trade')}"

    def digits(self, count: int) -> str:
        return "".join(self.rng.choices("0123456789", k=count))

    def code(self) -> str:
        letters = "".join(self.rng.choices("ABCDEFGHJKLMNPRSTUVWXYZ", k=2))
        return f"{letters}/{self.digits(5)}/{self.rng.choice('ABCDX')}"

    def money(self) -> str:
        return f"£{self.rng.randrange(500, 900_000) / 100:,.2f}"

    def phone(self) -> str:
        return f"0{self.digits(4)} {self.digits(6)}"

    def date(self) -> str:
        return f"{self.rng.randint(1, 28)} {self.rng.choice(_MONTHS)} {self.rng.randint(1962, 2019)}"

    def postcode(self) -> str:
        draw = self.rng.choice
        return f"{draw('ABDEHKLM')}{draw('ABDEHKLM')}{self.digits(1)} {self.digits(1)}{draw('ABD')}{draw('EFGH')}"

    def address(self) -> list[str]:
        return [f"{self.rng.randint(1, 240)} {self.one('street')}", self.one("town"), self.postcode()]

    def sentence(self) -> str:
        return self.one("sentence").format(
            topic=self.one("topic"), code=self.code(), money=self.money(), date=self.date(), name=self.name(),
            phone=self.phone(), company=self.company(), number=self.rng.randint(12, 960),
            month=self.rng.choice(_MONTHS),
        )  # fmt: skip

    def paragraph(self, count: int) -> str:
        return " ".join(dict.fromkeys(self.sentence() for _ in range(count)))

"""The pages of the evaluation set, from the committed table `pages.yaml`."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

EMPTY = "empty"  # the category of pages without text
HANDWRITING = "handwriting"  # the category of pages that no reader of print can read
CATEGORIES = (
    "prose",
    "two_column",
    "table",
    "code",
    "heading",
    "small_print",
    "list",
    "accented",
    "toc",
    EMPTY,
)
_TABLE = Path(__file__).with_name("pages.yaml")


class QualityError(RuntimeError):
    """The evaluation set cannot be built or measured; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPage:
    """A page with text. document: the PDF below the package's root. page: 1-based."""

    category: str
    package: str
    document: str
    page: int

    @property
    def name(self) -> str:
        """Returns the stem of the page's picture files."""
        stem = PurePosixPath(self.document.removesuffix(".gz")).stem
        return f"{self.category}-{stem}-{self.page}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyPage:
    """A page without text. kind: a maker of `empty.py`; package and file: its picture or PDF, if any."""

    title: str
    kind: str
    package: str | None = None
    file: str | None = None

    @property
    def category(self) -> str:
        return EMPTY

    @property
    def name(self) -> str:
        return f"{EMPTY}-{self.title}-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The whole table. Names are unique."""

    text: tuple[TextPage, ...]
    empty: tuple[EmptyPage, ...]

    @property
    def pages(self) -> list[TextPage | EmptyPage]:
        """Returns all pages, sorted by name."""
        return sorted([*self.text, *self.empty], key=_name)

    @property
    def packages(self) -> tuple[str, ...]:
        """Returns all packages the pages come from, sorted."""
        named = {page.package for page in self.text} | {page.package for page in self.empty if page.package}
        return tuple(sorted(name for name in named if name))

    @property
    def documents(self) -> frozenset[tuple[str, str]]:
        return frozenset((page.package, page.document) for page in self.text)


def load(table: Path = _TABLE) -> Selection:
    """Returns the table.

    Raises QualityError for an unknown category or key, or two pages of one name.
    """
    try:
        selection = _parse(yaml.safe_load(table.read_text(encoding="utf-8")))
    except (TypeError, KeyError, ValueError) as error:
        raise QualityError(f"{table}: {error}") from error
    names = Counter(page.name for page in selection.pages)
    twice = sorted(name for name, count in names.items() if count > 1)
    unknown = sorted({page.category for page in selection.text} - set(CATEGORIES[:-1]))
    if twice or unknown:
        raise QualityError(f"{table}: pages named twice {twice}, unknown categories {unknown}")
    return selection


def _name(page: TextPage | EmptyPage) -> str:
    return page.name


def _parse(raw: dict[str, Any]) -> Selection:
    roots: dict[str, str] = raw["roots"]
    text = [
        TextPage(category=category, package=package, document=roots[package] + document, page=int(page))
        for category, documents in raw["text"].items()
        for package, document, page in (_split(line) for line in documents)
    ]
    empty = [EmptyPage(**entry) for entry in raw["empty"]]
    return Selection(text=tuple(text), empty=tuple(empty))


def _split(line: str) -> tuple[str, str, str]:
    """Returns package, path and page of "package/path.pdf:7"."""
    package, _, rest = line.partition("/")
    document, _, page = rest.rpartition(":")
    return package, document, page

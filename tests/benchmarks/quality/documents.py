"""Measures how well exports tell the structure of whole documents: levels of headings, running heads, long tables.

python -m tests.benchmarks.quality.documents make DIR --count 40
ocrbatch run DIR/pdf --db DIR/read.db --set text_layer=ignore
ocrbatch export --db DIR/read.db --format docling --out-dir DIR/out
python -m tests.benchmarks.quality.documents measure DIR
python -m tests.benchmarks.quality.documents bookmarks PDFS OUT

make: writes PDFs of four to nine pages and DIR/truth.json; each has its own typeface, sizes, numbers, running heads and
tables that go on over pages, with their head row repeated or not. measure: compares docling's JSON in DIR/out with the
truth. A heading is found where one has its letters, and its level is right where it is the truth's. A table is joined
where one has its first and its last row, and right where one has exactly its cells, the head row once. bookmarks:
compares the headings of docling's JSON in OUT with the bookmarks of the PDFs in a folder; levels may all be the same
number of levels deeper, as under a title.
"""

import argparse
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import pymupdf

_WORDS = (  # noqa: SIM905
    "harbour river garden winter office letter report meeting member village school station market bridge council paper"
    " water stone timber window engine number season result method journey teacher engineer clerk captain mill orchard"
    " account budget repair survey county record measure question answer summer morning evening road field farm library"
    " collection catalogue history chapter figure colour weather storm coast island valley mountain forest village"
    " repaired measured written planned opened closed counted printed found lost carried moved rented sold bought drawn"
    " small large early late heavy light narrow broad quiet public private local common rare simple double former"
).split()
_SMALL = "the of and in to a with for on at by from as that which was were is are had has not but or".split()  # noqa: SIM905
_SHEETS = ((595.0, 842.0), (612.0, 792.0))
Row = list[str]


@dataclass(slots=True, kw_only=True)
class _Truth:
    headings: list[tuple[int, str]] = field(default_factory=list)  # level, text
    tables: list[tuple[bool, list[Row]]] = field(default_factory=list)  # whether it goes on over pages, rows
    furniture: list[str] = field(default_factory=list)


class _Maker:
    """Typesets one document, page by page. The style is drawn from the seed."""

    def __init__(self, seed: int, path: Path) -> None:
        self.rng = rng = random.Random(seed)
        self.truth = _Truth()
        self.width, self.height = rng.choice(_SHEETS)
        self.left, self.top = rng.uniform(50, 80), rng.uniform(60, 80)
        self.body = rng.choice([9.0, 10.0, 10.5, 11.0, 12.0])
        second, third = rng.uniform(1.2, 1.4), rng.uniform(1.0, 1.12)
        self.sizes = [self.body * r for r in (rng.uniform(2.0, 2.4), rng.uniform(1.5, 1.8), second, third)]
        self.bold = [rng.random() < 0.6, True, rng.random() < 0.7, True]
        self.family = rng.choice(["serif", "sans-serif"])
        self.numbers = rng.choice(["", "", "1", "1.", "Chapter"])
        self.depth = rng.choice([2, 2, 3])
        self.has_title = rng.random() < 0.7
        self.head = rng.choice(["none", "title", "chapter"])
        self.foot = rng.choice(["{n}", "{n}", "- {n} -", "Page {n}", ""])
        self.grid = rng.choice(["all", "across", "none"])
        self.repeats = rng.random() < 0.6
        self.path = path
        self.counts = [0, 0, 0]
        self.name = self.title(4)
        self.chapter = self.name
        self.page = 0
        self.y = 0.0
        self.writer = pymupdf.DocumentWriter(str(path))
        self.device: Any = None

    def words(self, count: int) -> str:
        rng = self.rng
        return " ".join(rng.choice(_SMALL if rng.random() < 0.4 else _WORDS) for _ in range(count))

    def title(self, count: int) -> str:
        return self.words(count).capitalize()

    def sentences(self, count: int) -> str:
        return " ".join(f"{self.title(self.rng.randint(6, 16))}." for _ in range(count))

    def css(self) -> str:
        rule = {"all": "border:1px solid black;", "across": "border-bottom:1px solid black;", "none": ""}
        levels = "".join(
            f".h{n}{{font-size:{size}pt;font-weight:{'bold' if self.bold[n] else 'normal'};margin:0}}"
            for n, size in enumerate(self.sizes)
        )
        return (
            f"body{{font-family:{self.family};font-size:{self.body}pt}} p{{margin:0}} {levels}"
            f"table{{border-collapse:collapse;width:100%}} td,th{{padding:2px 6px;text-align:left;{rule[self.grid]}}}"
        )

    def room(self) -> float:
        return self.height - 70 - self.y

    def begin(self) -> None:
        if self.device is not None:
            self.writer.end_page()
        self.page += 1
        self.device = self.writer.begin_page(pymupdf.Rect(0, 0, self.width, self.height))
        named = {"none": "", "title": self.name, "chapter": self.chapter}[self.head]  # of the page before
        self.y = 30.0
        if named and self.page > 1:
            self.place(f"<p>{escape(named)}</p>")
            self.truth.furniture.append(named)
        if self.foot:
            self.y = self.height - 50
            number = self.foot.format(n=self.page)
            self.place(f'<p style="text-align:center">{number}</p>')
            self.truth.furniture.append(number)
        self.y = self.top

    def story(self, html: str) -> tuple[Any, float]:
        story = pymupdf.Story(html, user_css=self.css())
        _, filled = story.place(pymupdf.Rect(self.left, self.y, self.width - self.left, self.y + 5000))
        return story, float(filled[3] - self.y)

    def place(self, html: str, gap: float = 0.0) -> None:
        story, high = self.story(html)
        story.place(pymupdf.Rect(self.left, self.y, self.width - self.left, self.y + high + 1))
        story.draw(self.device)
        self.y += high + gap

    def put(self, html: str, gap: float, least: float = 0.0) -> None:
        if self.story(html)[1] + least > self.room():
            self.begin()
        self.place(html, gap)

    def heading(self, level: int) -> None:
        self.counts[level - 1] += 1
        self.counts[level:] = [0] * (3 - level)
        text = self.title(self.rng.randint(2, 5))
        number = ".".join(map(str, self.counts[:level]))
        if self.numbers == "Chapter":
            text = f"Chapter {number}: {text}" if level == 1 else text
        elif self.numbers:
            text = f"{number}{self.numbers[1:] if level == 1 else ''} {text}"
        if level == 1:
            self.chapter = text
        self.y += 0.6 * self.sizes[level]
        self.put(f'<p class="h{level}">{text}</p>', 0.4 * self.body, 4 * self.body)
        self.truth.headings.append((level + self.has_title, text))

    def table(self) -> None:
        rng = self.rng
        columns = rng.randint(3, 5)
        head = [self.title(1) for _ in range(columns)]
        rows = [
            [self.title(rng.randint(1, 2)), *(f"{rng.randint(10, 9999):,}" for _ in range(columns - 1))]
            for _ in range(rng.randint(14, 55))
        ]
        whole, first, pages = [head, *rows], True, set[int]()
        while rows:
            for fits in range(len(rows), 0, -1):
                html = _table(
                    [*([head] if first or self.repeats else []), *rows[:fits]], first or self.repeats
                )
                if self.story(html)[1] <= self.room():
                    break
            else:
                fits = 0
            if fits < min(3, len(rows)):
                self.begin()
                continue
            self.place(html, 1.2 * self.body)
            rows, first = rows[fits:], False
            pages.add(self.page)
        self.truth.tables.append((len(pages) > 1, whole))

    def made(self) -> _Truth:
        self.begin()
        if self.has_title:
            self.place(f'<p class="h0">{self.name}</p>', 1.5 * self.body)
            self.truth.headings.append((1, self.name))
        for _ in range(self.rng.randint(3, 5)):
            self.heading(1)
            for _ in range(self.rng.randint(1, 3)):
                self.paragraphs()
                if self.depth > 1 and self.rng.random() < 0.8:
                    self.heading(2)
                    self.paragraphs()
                if self.depth > 2 and self.rng.random() < 0.6:
                    self.heading(3)
                    self.paragraphs()
            if self.rng.random() < 0.5:
                self.table()
                self.paragraphs()
        self.writer.end_page()
        self.writer.close()
        return self.truth

    def paragraphs(self) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self.put(f"<p>{self.sentences(self.rng.randint(2, 5))}</p>", 0.6 * self.body)


def _table(rows: Sequence[Row], headed: bool) -> str:
    lines = []
    for number, row in enumerate(rows):
        tag = "th" if headed and not number else "td"
        lines.append("<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>")
    return f"<table>{''.join(lines)}</table>"


def make(folder: Path, count: int, seed: int) -> None:
    """Writes documents and their truth."""
    (folder / "pdf").mkdir(parents=True, exist_ok=True)
    truths = {}
    for number in range(count):
        name = f"{number:03}.pdf"
        truth = _Maker(seed + number, folder / "pdf" / name).made()
        truths[name] = {"headings": truth.headings, "tables": truth.tables, "furniture": truth.furniture}
    (folder / "truth.json").write_text(json.dumps(truths, indent=1), encoding="utf-8")


def letters(text: str) -> str:
    """Returns the letters and figures of a text, in small letters."""
    return re.sub(r"[\W_]+", "", text).casefold()


def measure(folder: Path) -> Iterator[str]:
    """Yields the figures."""
    counts: Counter[str] = Counter()
    for name, truth in json.loads((folder / "truth.json").read_text(encoding="utf-8")).items():
        (path,) = (folder / "out").rglob(f"{name}.docling.json")
        document = json.loads(path.read_text(encoding="utf-8"))
        _count_headings(truth["headings"], document, counts)
        _count_furniture(truth["furniture"], document, counts)
        _count_tables(truth["tables"], document, counts)
    found, true, right = counts["found"], counts["headings"], counts["right"]
    yield f"headings: {true}, found {right} of {found} (F1 {2 * right / max(1, found + true):.3f})"
    yield f"levels right: {counts['level']} of {right} ({counts['level'] / max(1, right):.3f})"
    yield f"furniture: {counts['furniture']}, told {counts['told']}, other text told so: {counts['told wrong']}"
    yield (
        f"tables over pages: {counts['long']}, joined {counts['joined']}, all cells right {counts['long right']};"
        f" on one page: {counts['short']}, all cells right {counts['short right']}; tables written: {counts['tables']}"
    )


def _count_headings(truth: Sequence[tuple[int, str]], document: Any, counts: Counter[str]) -> None:
    found = [item for item in document["texts"] if item["label"] in ("section_header", "title")]
    levels = {letters(item["text"]): item.get("level", 0) for item in found}
    counts["headings"] += len(truth)
    counts["found"] += len(found)
    for level, text in truth:
        own = levels.get(letters(text))
        counts["right"] += own is not None
        counts["level"] += own == level


def _count_furniture(truth: Sequence[str], document: Any, counts: Counter[str]) -> None:
    said = Counter(
        letters(item["text"]) for item in document["texts"] if item["content_layer"] == "furniture"
    )
    wanted = Counter(map(letters, truth))
    counts["furniture"] += wanted.total()
    counts["told"] += (said & wanted).total()
    counts["told wrong"] += (said - wanted).total()


def _count_tables(truth: Sequence[tuple[bool, Sequence[Row]]], document: Any, counts: Counter[str]) -> None:
    grids = []
    for table in document["tables"]:
        rows: dict[int, list[str]] = {}
        for cell in table["data"]["table_cells"]:
            rows.setdefault(cell["start_row_offset_idx"], []).append(letters(cell["text"]))
        grids.append([row for _, row in sorted(rows.items())])
    counts["tables"] += len(grids)
    for is_long, rows_true in truth:
        wanted = [[letters(cell) for cell in row] for row in rows_true]
        kind = "long" if is_long else "short"
        counts[kind] += 1
        counts[f"{kind} right"] += wanted in grids
        counts["joined"] += is_long and any(wanted[1] in grid and wanted[-1] in grid for grid in grids)


def bookmarks(pdfs: Path, out: Path) -> Iterator[str]:
    """Yields how many bookmarks of each PDF are headings, with the right level, and how many headings are none."""
    total: Counter[str] = Counter()
    for path in sorted(pdfs.glob("*.pdf")):
        with pymupdf.open(path) as document:
            marks = [(level, _bare(title)) for level, title, _ in document.get_toc()]
        texts = json.loads((out / f"{path.name}.docling.json").read_text(encoding="utf-8"))["texts"]
        found = [(_bare(item["text"]), item["level"]) for item in texts if item["label"] == "section_header"]
        levels = dict(reversed(found))
        deeper = Counter(levels[key] - level for level, key in marks if key in levels)
        counts = Counter(
            bookmarks=len(marks), found=deeper.total(), level=max(deeper.values(), default=0),
            others=sum(key not in {key for _, key in marks} for key, _ in found),
        )  # fmt: skip
        total += counts
        yield _said(path.name, counts)
    yield _said("all", total)


def _said(name: str, counts: Counter[str]) -> str:
    return (
        f"{name}: {counts['bookmarks']} bookmarks, {counts['found']} are headings, {counts['level']} with the right"
        f" level; {counts['others']} other headings"
    )


def _bare(text: str) -> str:
    return letters(text).lstrip("0123456789")


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("--count", type=int, default=40)
    making.add_argument("--seed", type=int, default=7_000)
    comparing = commands.add_parser("bookmarks")
    for command in (making, commands.add_parser("measure"), comparing):
        command.add_argument("folder", type=Path)
    comparing.add_argument("out", type=Path)
    args = parser.parse_args(given)
    if args.command == "make":
        make(args.folder, args.count, args.seed)
    elif args.command == "bookmarks":
        print(*bookmarks(args.folder, args.out), sep="\n")
    else:
        print(*measure(args.folder), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

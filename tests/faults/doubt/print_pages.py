"""Draws pages whose print is easily lost: large type, a lone word or number, slanted sheets, foreign scripts.

python -m tests.faults.doubt.print_pages FOLDER     writes them, one picture a page, named by kind
python -m tests.faults.doubt.print_pages FOLDER --database RUN.sqlite     reports how they ended in a run

Each must end with its text, or doubtful; none as blank, and none as ok with another text or with none. Sheets whose
name ends with "-empty" have nothing printed on them, and are blank. Other scripts are drawn with the fonts of Debian's
fonts-noto-core, fonts-noto-cjk and fonts-dejavu-core.
"""

import argparse
import sqlite3
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pymupdf
from PIL import Image
from rapidfuzz.distance import Levenshtein

from tests.benchmarks.pages import empty_sheets

_DPI = 150
_WORDS = (
    "The committee met on Tuesday and looked at the plans for the new bridge. Most of the members were in favour of "
    "the northern route, which is shorter and leaves the old trees by the river where they are. The cost is to be "
    "shared between the two towns, as it was in earlier years. A second meeting will be held in the spring."
)
_SCRIPTS = {
    "chinese": (
        "noto/NotoSerifCJK-Bold.ttc",
        "委员会星期二开会讨论了新桥的计划。大多数成员赞成北线，因为它更短。",
    ),
    "arabic": (
        "NotoNaskhArabic-Regular.ttf",
        "اجتمعت اللجنة يوم الثلاثاء ونظرت في خطط الجسر الجديد على النهر. ",
    ),
    "hebrew": (
        "NotoSerifHebrew-Regular.ttf",
        "הוועדה נפגשה ביום שלישי ובחנה את התוכניות לגשר החדש על הנהר. ",
    ),
    "hindi": (
        "NotoSansDevanagari-Regular.ttf",
        "समिति की बैठक मंगलवार को हुई और नए पुल की योजनाओं पर विचार किया गया। ",
    ),
}
_SLANTS = (-20, -15, -10, -6, -3, 3, 6, 10, 15, 20)
# Largest share of wrong characters in a text that counts as read.
_MAX_WRONG = 0.2


def pages() -> Iterator[tuple[str, str, Image.Image]]:
    """Yields name, text and picture of each page; the text is "" for one without print and "?" for a foreign one."""
    yield from posters()
    for size_pt, word in ((12, "7"), (40, "XIV")):
        yield f"number-{size_pt}-{word}", word, _sheet([(word, size_pt, 0.45)])
    for size_pt, word in ((10, "Appendix"), (14, "Notes"), (24, "Contents"), (60, "Index"), (80, "Part Two")):
        yield f"word-{size_pt}-{word.replace(' ', '')}", word, _sheet([(word, size_pt, 0.5)])
    for size_pt, number in ((90, "7"), (150, "VIII")):
        lines = [(number, size_pt, 0.3), ("In which the bridge is opened", 20, 0.5)]
        yield f"opener-{size_pt}", f"{number} In which the bridge is opened", _sheet(lines)
    for angle in _SLANTS:
        yield f"slant-{angle:+}", _WORDS, _slanted(angle)
    for name, (font, text) in _SCRIPTS.items():
        yield f"script-{name}", "?", _set(text * 12, font)
    for kind, sheet in empty_sheets.sheets(_DPI, seed=7).items():
        yield f"sheet-{kind}-empty", "", Image.fromarray(sheet)


def posters() -> Iterator[tuple[str, str, Image.Image]]:
    """Yields name, text and picture of each page whose print is too large to be found as a line."""
    for size_pt, word in (
        (100, "SALE"),
        (150, "SALE"),
        (200, "OPEN"),
        (330, "GO"),
        (400, "NO"),
        (130, "Danger"),
    ):
        yield f"poster-{size_pt}-{word}", word, _sheet([(word, size_pt, 0.5)])
    for size_pt, word in ((40, "II"), (80, "3"), (200, "42"), (330, "5")):
        yield f"number-{size_pt}-{word}", word, _sheet([(word, size_pt, 0.45)])


def write(folder: Path) -> int:
    """Writes the pages and returns their number; `judge` generates the texts again."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 0
    for name, _, picture in pages():
        picture.save(folder / f"{name}.png", dpi=(_DPI, _DPI))
        number += 1
    return number


def judge(database: Path) -> list[tuple[str, str, str]]:
    """Returns name, status and verdict ("read", "doubtful", "blank" or "LOST ...") of each page of a run."""
    with sqlite3.connect(database) as conn:
        rows = conn.execute(
            "SELECT f.path, p.status, coalesce(a.text, '') FROM pages p JOIN files f ON f.document_id = p.document_id"
            " LEFT JOIN attempts a ON a.id = p.current_attempt_id"
        ).fetchall()
    found = {Path(path).stem: (status, text) for path, status, text in rows}
    return [
        (name, *_verdict(*found[name], truth)) if name in found else (name, "no row", "LOST without a row")
        for name, truth, _ in pages()
    ]


def _verdict(status: str, text: str, truth: str) -> tuple[str, str]:
    if not truth:
        return status, "blank" if status == "blank" else "no blank, though nothing is printed on it"
    if status not in ("ok", "blank"):
        return status, "doubtful" if status == "doubtful" else status
    is_read = _wrong(" ".join(text.split()), truth) <= _MAX_WRONG
    return status, "read" if status == "ok" and truth != "?" and is_read else f"LOST: {status}, {text[:40]!r}"


def _wrong(text: str, truth: str) -> float:
    return Levenshtein.distance(text, truth) / len(truth)


def _sheet(lines: list[tuple[str, float, float]]) -> Image.Image:
    """Returns an A4 sheet with each line centred. lines: text, size in points, share of the height."""
    page = pymupdf.open().new_page(width=595, height=842)
    for text, size_pt, share in lines:
        width = pymupdf.get_text_length(text, "hebo", size_pt)
        page.insert_text(
            (max(5, (595 - width) / 2), share * 842 + size_pt / 3), text, fontname="hebo", fontsize=size_pt
        )
    return _drawn(page)


def _slanted(angle_deg: float) -> Image.Image:
    """Returns a page of running text on a slanted sheet, with all of its print still on the picture."""
    page = pymupdf.open().new_page(width=595, height=842)
    page.insert_textbox((120, 230, 475, 640), _WORDS, fontsize=14, fontname="tiro", lineheight=1.4)
    return _drawn(page).rotate(angle_deg, Image.Resampling.BICUBIC, fillcolor=(255, 255, 255))


def _set(text: str, font: str) -> Image.Image:
    path = next(
        path
        for root in ("truetype", "opentype")
        for path in Path("/usr/share/fonts", root).rglob(Path(font).name)
    )
    page = pymupdf.open().new_page(width=595, height=842)
    css = f"@font-face {{font-family: own; src: url({path.name});}} * {{font-family: own; font-size: 15px;}}"
    page.insert_htmlbox(
        (72, 80, 523, 760), f"<p>{text}</p>", css=css, archive=pymupdf.Archive(str(path.parent))
    )
    return _drawn(page)


def _drawn(page: pymupdf.Page) -> Image.Image:
    pixmap = page.get_pixmap(dpi=_DPI)
    pixels = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3)
    return Image.fromarray(pixels)


def main() -> int:
    """Returns 1 if a page was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--database", type=Path)
    args = parser.parse_args()
    if args.database is None:
        print(f"{write(args.folder)} pages in {args.folder}")
        return 0
    table: dict[str, Counter[str]] = defaultdict(Counter)
    verdicts = judge(args.database)
    for name, status, verdict in verdicts:
        print(f"{name:28} {status:10} {verdict}")
        table[name.split("-")[0]][verdict.split(":")[0].split(",")[0]] += 1
    for kind, counts in table.items():
        print(f"{kind:10}", ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    return int(any(verdict.startswith("LOST") for _, _, verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())

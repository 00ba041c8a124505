"""The rows of an export, one page at a time. The words of a corrected text get the boxes of those that were read."""

import heapq
from collections.abc import Iterator, Sequence
from itertools import groupby, repeat
from typing import Any, TypedDict, cast

from rapidfuzz.distance import Levenshtein
from sqlite_utils import Database

from storage.database import database_path, explained
from storage.export.selection import Selection, prepare, selected
from storage.strings.printable import one_line
from storage.types import BoxPx, WordRow
from storage.words import around, unpack

_ATTEMPTS_A_QUERY = 1000


class BlockRow(TypedDict):
    """One block. box: (x0, y0, x1, y1) in page pixels, or None. confidence: 0..1, or None. source: as the page's.

    Blocks that were read in pictures beside a text layer are "ocr" on a page whose source is "layer".
    """

    label: str
    box: BoxPx | None
    text: str
    confidence: float | None
    source: str


class ErrorRow(TypedDict):
    stage: str
    category: str
    message: str


class PageRow(TypedDict):
    """One page of one file. page: 1-based. timings: stage -> the page's share in seconds.

    text, markdown, confidence and error are None where absent; a page not read yet is "pending".
    source, rung, rotation_deg, layer_agreement, script, doubt: see storage.types.PageRecord; None where the page was
    not read yet. superseded: the path has other content by now. words: those of the text, in its order; [] where no
    places are known, or where they were not asked for. width_px, height_px, dpi: of the page as rendered, upright,
    to which boxes refer; None where it was not, or for an image without a resolution. corrected_by, corrected_at: who
    wrote the text in place of what was read, and when (UTC, ISO 8601); None for a text that was read.
    """

    path: str
    sha256: str
    page: int
    status: str
    text: str | None
    markdown: str | None
    confidence: float | None
    blocks: list[BlockRow]
    timings: dict[str, float]
    error: ErrorRow | None
    source: str | None
    rung: str | None
    rotation_deg: int | None
    layer_agreement: float | None
    script: str | None
    doubt: str | None
    superseded: bool
    words: list[WordRow]
    width_px: int | None
    height_px: int | None
    dpi: float | None
    corrected_by: str | None
    corrected_at: str | None


def export_rows(
    db: Database, selection: Selection | None = None, *, with_words: bool = False
) -> Iterator[PageRow]:
    """Yields the selected pages, None for every page of every listed file, ordered by path (bytewise) then page.

    One page is in memory at a time, and all come from one snapshot. Two files of equal content both appear; a vanished
    file does unless a present one has its content. Documents without pages (broken, encrypted, skipped) do not appear:
    `status` counts them. Content that a path held earlier follows its present content.
    """
    chosen = selection or Selection()
    with explained(database_path(db)):
        for row, superseded in _merged(db, chosen):
            yield page_row(db, row, superseded=superseded, with_words=with_words)


def page_row(db: Database, row: dict[str, Any], *, superseded: bool, with_words: bool) -> PageRow:
    """Returns a row of the view results, or superseded_results, as a page of an export."""
    attempt = row["attempt_id"]
    stage, category = row["error_stage"], row["error_category"]
    error: ErrorRow | None = None
    if stage is not None and category is not None:
        error = ErrorRow(stage=stage, category=category, message=row["error_message"] or "")
    made = {
        "blocks": _blocks(db, attempt),
        "timings": dict(
            db.conn.execute(
                "SELECT stage, sum(share_s) FROM timings WHERE attempt_id = ? GROUP BY stage ORDER BY min(id)",
                (attempt,),
            ).fetchall()
        ),
        "error": error,
        "superseded": superseded,
        "words": page_words(db, attempt, row["text"]) if with_words else [],
    }
    return cast(
        PageRow, {name: made[name] if name in made else row[name] for name in PageRow.__annotations__}
    )


def _merged(db: Database, selection: Selection) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yields the rows and whether each is superseded; both queries are streamed from one snapshot."""
    prepare(db, selection)
    current = zip(selected(db, "results", selection), repeat(False))
    if not selection.superseded:
        return current
    former = zip(selected(db, "superseded_results", selection), repeat(True))
    return heapq.merge(current, former, key=lambda pair: (pair[0]["path"].encode(), pair[1]))


def new_pages(db: Database, after: int) -> Iterator[tuple[int, list[PageRow]]]:
    """Yields each attempt stored after another that is its page's current one, by number, with its page's rows.

    A page has a row for each file with its content. Only as many attempts are looked up at once as take little memory;
    a run may go on storing meanwhile.
    """
    with explained(database_path(db)):
        while found := db.conn.execute(
            "SELECT a.id, a.page_id FROM attempts a JOIN pages p ON p.id = a.page_id AND p.current_attempt_id = a.id"
            " WHERE a.id > ? ORDER BY a.id LIMIT ?",
            (after, _ATTEMPTS_A_QUERY),
        ).fetchall():
            for attempt, page_id in found:
                # Read anew meanwhile: the page comes with its new attempt.
                rows = db.query(
                    "SELECT * FROM results WHERE page_id = ? AND attempt_id = ? ORDER BY path",
                    (page_id, attempt),
                )
                yield attempt, [page_row(db, row, superseded=False, with_words=True) for row in rows]
            after = found[-1][0]


def stored_at(db: Database, attempt: int) -> str | None:
    """Returns when an attempt was stored, None where there is no such attempt."""
    with explained(database_path(db)):
        row = db.conn.execute("SELECT finished_at FROM attempts WHERE id = ?", (attempt,)).fetchone()
    return None if row is None else str(row[0])


def shortfall(row: PageRow) -> str | None:
    """Returns why the page has no text, or may have less than all of it; None for a page that is fine."""
    error = row["error"]
    if error is not None:
        message = one_line(" ".join(error["message"].split()))
        return f"{row['status']}: {error['stage']}: {error['category']}: {message}"
    if row["doubt"] is not None:
        return f"{row['status']}: {one_line(row['doubt'])}"
    return None if row["status"] in ("ok", "embedded") else row["status"]


def _blocks(db: Database, attempt: int | None) -> list[BlockRow]:
    rows = db.conn.execute(
        # Of a text layer's page, what has a confidence was read beside the layer.
        "SELECT label, b.text, b.confidence, iif(b.confidence IS NULL, source, 'ocr'), x0_px, y0_px, x1_px, y1_px"
        " FROM blocks b JOIN attempts a ON a.id = attempt_id WHERE attempt_id = ? ORDER BY block_index",
        (attempt,),
    )
    return [
        BlockRow(
            label=label,
            box=None if x0 is None else (x0, y0, x1, y1),
            text=text,
            confidence=confidence,
            source=source,
        )
        for label, text, confidence, source, x0, y0, x1, y1 in rows
    ]


def page_words(db: Database, attempt: int | None, text: str | None) -> list[WordRow]:
    """Returns the words of a page's current text, which may be a correction; [] where no places are known."""
    found = db.conn.execute("SELECT text, words FROM attempts WHERE id = ?", (attempt,)).fetchone()
    if found is None or found[1] is None or text is None:
        return []
    words = unpack(found[1], found[0])
    return words if text == found[0] else moved(words, text)


def moved(words: Sequence[WordRow], text: str) -> list[WordRow]:
    """Returns the words of the text, with the boxes of those words, which were read in the same place.

    A word that stands for one that was read has its box; so have several for as many. Words that were joined have the
    box around them, and one that was parted is parted by its letters. Others have no box. What is not as it was read
    has no confidence.
    """
    names = text.split()
    read = [word["text"] for word in words]
    if names == read:
        return list(words)
    found: list[WordRow] = []
    for is_equal, steps in groupby(Levenshtein.opcodes(read, names), key=lambda step: step.tag == "equal"):
        first, *others = steps
        last = others[-1] if others else first
        old, new = words[first.src_start : last.src_end], names[first.dest_start : last.dest_end]
        if is_equal:
            found += old
        else:
            found += [
                WordRow(text=name, box=box, confidence=None)
                for name, box in zip(new, _boxes(old, new), strict=True)
            ]
    return found


def _boxes(old: Sequence[WordRow], new: Sequence[str]) -> list[BoxPx | None]:
    boxes = [word["box"] for word in old]
    if len(old) == len(new):
        return boxes
    known = [box for box in boxes if box is not None]
    if len(new) == 1 and len(known) == len(old):
        return [around(known)]
    if len(old) == 1 and known:
        return list(_parted(known[0], new))
    return [None] * len(new)


def _parted(box: BoxPx, names: Sequence[str]) -> list[BoxPx]:
    """Returns a box for each name, side by side in the box, as wide as their letters, with a space between."""
    x0, y0, x1, y1 = box
    total = sum(map(len, names)) + len(names) - 1
    parts: list[BoxPx] = []
    before = 0
    for name in names:
        left, right = before / total, (before + len(name)) / total
        parts.append((round(x0 + left * (x1 - x0)), y0, round(x0 + right * (x1 - x0)), y1))
        before += len(name) + 1
    return parts

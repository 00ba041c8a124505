"""Pages whose text is known: those of a folder beside their texts, and those that were corrected in a database."""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pipeline.documents.settings import IngestSettings
from pipeline.errors import PipelineError
from pipeline.stages.discover import probe
from pipeline.types import InputFile, Page
from storage.database import open_for_reading

_BESIDE = "put its text beside it, under the same name and .txt"
_CORRECTED = """
SELECT (SELECT group_concat(path, char(0)) FROM files f WHERE f.document_id = p.document_id), d.sha256, d.kind,
    p.page_index, c.text
FROM pages p JOIN corrections c ON c.id = p.correction_id JOIN documents d ON d.id = p.document_id
ORDER BY p.document_id, p.page_index
"""


class FinetuneError(PipelineError):
    """Pages cannot be trained on; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TruePage:
    """A page and its text. name: the file below its folder, and the page number if it has several."""

    page: Page
    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What is left out of training. reason: what is wrong and what to do."""

    name: str
    reason: str


Found = Iterator[TruePage | LeftOut]


def find_pages(folder: Path, truth: Path | None = None) -> tuple[list[TruePage], list[LeftOut]]:
    """Returns the pages of a folder that have a text, in order of their names, and the files left out.

    Without `truth`, PAGE.txt is beside PAGE.png (or another image, or a PDF of one page). With it, page N of
    the file FOLDER/PATH has its text in TRUTH/PATH/N.txt, as `ocrbatch eval` expects it.

    Raises: FinetuneError where there is no such folder, or no page with a text in it.
    """
    for directory in filter(None, (folder, truth)):
        if not directory.is_dir():
            raise FinetuneError(
                f"{directory}: no such folder; name one that holds page images and their texts"
            )
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix.lower() != ".txt"]
    return _sorted_out(
        _below(folder, files, truth) if truth else _beside(folder, files),
        f"{folder}: no page image or PDF has a text; {_BESIDE}, or name a folder of PATH/1.txt, PATH/2.txt with "
        "--truth",
    )


def find_corrected(database: Path) -> tuple[list[TruePage], list[LeftOut]]:
    """Returns the pages corrected in `ocrbatch view` whose file still has the content that was read, and the others.

    Raises: FinetuneError where there is no page to train on; DatabaseNotFoundError, StorageError.
    """
    with closing(open_for_reading(str(database))) as db:
        rows = db.execute(_CORRECTED).fetchall()
    return _sorted_out(
        (_corrected(*row) for row in rows),
        f"{database}: no corrected page can be used; correct some with `ocrbatch view`",
    )


def explain(left_out: Sequence[LeftOut], most: int = 4) -> list[str]:
    """Returns one line for each reason: how many, and which."""
    names = defaultdict(list)
    for item in left_out:
        names[item.reason].append(item.name)
    return [
        f"  left out {count}: {', '.join(names[reason][:most])}{f' and {count - most} more' if count > most else ''}: "
        f"{reason}"
        for reason, count in Counter(item.reason for item in left_out).most_common()
    ]


def _sorted_out(found: Found, nothing: str) -> tuple[list[TruePage], list[LeftOut]]:
    """Returns pages and what is left out. Raises: FinetuneError, which says `nothing`, where there is no page."""
    items = list(found)
    pages = [item for item in items if isinstance(item, TruePage)]
    left_out = [item for item in items if isinstance(item, LeftOut)]
    if not pages:
        raise FinetuneError("\n".join([nothing, *explain(left_out)]))
    return pages, left_out


def _beside(folder: Path, files: Sequence[Path]) -> Found:
    owners = Counter(file.with_suffix(".txt") for file in files)
    for file in files:
        name, text = file.relative_to(folder).as_posix(), file.with_suffix(".txt")
        document = probe(str(file), IngestSettings())
        if document.status == "skipped":
            continue
        if not text.is_file():
            yield LeftOut(name=name, reason=f"no text; {_BESIDE}")
        elif owners[text] > 1:
            yield LeftOut(name=name, reason="several pages share one text; rename so that each has its own")
        elif document.num_pages > 1:
            reason = "one text for a file of several pages; give every page its own with --truth"
            yield LeftOut(name=name, reason=reason)
        else:
            yield _page(document, 0, name, text)
    for text in sorted(folder.rglob("*.txt")):
        if text not in owners:
            yield LeftOut(
                name=text.relative_to(folder).as_posix(), reason="a text without a page of the same name"
            )


def _below(folder: Path, files: Sequence[Path], truth: Path) -> Found:
    for file in files:
        name = file.relative_to(folder).as_posix()
        texts = {int(t.stem): t for t in (truth / name).glob("*.txt") if t.stem.isdecimal()}
        document = probe(str(file), IngestSettings())
        if document.status == "skipped":
            continue
        if not texts:
            yield LeftOut(name=name, reason="no text; put those of its pages into TRUTH/<file>/<page>.txt")
        for number, text in sorted(texts.items()):
            of_page = name if document.num_pages == 1 else f"{name}, page {number}"
            if document.status == "ok" and not 1 <= number <= document.num_pages:
                yield LeftOut(name=of_page, reason="the file has no such page; pages are counted from 1")
            else:
                yield _page(document, number - 1, of_page, text)


def _page(document: InputFile, index: int, name: str, text: Path) -> TruePage | LeftOut:
    if document.status != "ok":
        return LeftOut(name=name, reason=f"it cannot be opened ({document.reason}); save it again")
    try:
        lines = unicodedata.normalize("NFC", text.read_text(encoding="utf-8-sig")).splitlines()
    except (UnicodeDecodeError, OSError):
        return LeftOut(name=name, reason="its text is not UTF-8; save it as UTF-8")
    page = document.page(index)
    return TruePage(page=page, name=name, text="\n".join(line.rstrip() for line in lines).strip("\n"))


def _corrected(paths: str | None, sha256: str, kind: str, index: int, text: str) -> TruePage | LeftOut:
    files = [path for path in (paths or "").split("\0") if path]
    name = f"{files[0] if files else sha256}, page {index + 1}"
    if kind not in ("pdf", "image"):
        return LeftOut(name=name, reason="a video; only pages of PDFs and images are trained on")
    file = next((file for file in files if probe(file, IngestSettings()).sha256 == sha256), None)
    if file is None:
        return LeftOut(name=name, reason="its file is gone, or has other content than was read")
    page = Page(path=file, sha256=sha256, kind="pdf" if kind == "pdf" else "image", page_index=index)
    lines = [line.rstrip() for line in text.splitlines()]
    return TruePage(page=page, name=name, text="\n".join(lines).strip("\n"))

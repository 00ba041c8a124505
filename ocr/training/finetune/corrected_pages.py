"""Pairs of pages and texts out of a database of ocrbatch: those whose text somebody corrected in its reader.

The database is read as the SQLite file it is, for `ocr` knows nothing of `storage`.
"""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

from ocr.training.finetune.pairs import LeftOut, Pair, PairsError, explain

_CORRECTED = """
SELECT (SELECT group_concat(path, char(0)) FROM files f WHERE f.document_id = p.document_id), d.sha256, d.kind,
    p.page_index, a.rotation_deg, c.text
FROM pages p JOIN corrections c ON c.id = p.correction_id JOIN documents d ON d.id = p.document_id
JOIN attempts a ON a.id = p.current_attempt_id
ORDER BY p.document_id, p.page_index
"""


def find_corrected(database: Path) -> tuple[list[Pair], list[LeftOut]]:
    """Returns the corrected pages whose file still has the content that was read, and those left out.

    Raises: PairsError where there is no such database, or no page to train on in it.
    """
    if not database.is_file():
        raise PairsError(
            f"{database}: no such database; name the one that `ocrbatch view` corrected pages in"
        )
    try:
        with closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)) as conn:
            rows = conn.execute(_CORRECTED).fetchall()
    except sqlite3.Error as error:
        raise PairsError(f"{database}: not a database of this version of ocrbatch ({error})") from None
    found = [_pair(*row) for row in rows]
    pairs = [item for item in found if isinstance(item, Pair)]
    left_out = [item for item in found if isinstance(item, LeftOut)]
    if not pairs:
        raise PairsError(
            f"{database}: no corrected page can be used; correct some with `ocrbatch view`{explain(left_out)}"
        )
    return pairs, left_out


def _pair(
    paths: str | None, sha256: str, kind: str, index: int, rotation_deg: int, text: str
) -> Pair | LeftOut:
    files = [Path(path) for path in (paths or "").split("\0") if path]
    name = f"{files[0] if files else sha256}, page {index + 1}"
    if kind not in ("pdf", "image"):
        return LeftOut(name=name, reason="a video; only pages of PDFs and images are trained on")
    if rotation_deg:
        return LeftOut(name=name, reason="it was turned to be read; save the file with that page upright")
    file = next((file for file in files if _has(file, sha256)), None)
    if file is None:
        return LeftOut(name=name, reason="its file is gone, or has other content than was read")
    lines = [line.rstrip() for line in text.splitlines()]
    return Pair(file=file, page_index=index, name=name, text="\n".join(lines).strip("\n"))


def _has(file: Path, sha256: str) -> bool:
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest() == sha256
    except OSError:
        return False

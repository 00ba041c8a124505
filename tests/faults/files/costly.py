"""Measures what one small PDF, all of whose pages exceed a page's time limit, costs the good files beside it.

python -m tests.faults.files.costly DIR [--pages 30] [--timeout 4]

Makes DIR/docs, has `ocrbatch run` read it, and prints when the rows came; the costly document is first in the folder.
It prints how many of its pages were stored before the last good one, and the seconds until then.
"""

import argparse
import json
import subprocess
import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path

from storage.database import open_for_reading
from tests.faults.files.hostile_pdfs import pdf, stream
from tests.faults.rig.corpus import write_pdf

_GOOD = 20


def costly(num_pages: int) -> bytes:
    """Returns a file of this many pages, each of ten thousand million words drawn on top of each other."""
    kids = b" ".join(b"%d 0 R" % (100 + index) for index in range(num_pages))
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 300 300] /Resources << /XObject << /L %d 0 R >> >>"
    laughs = {number: stream(b"/L Do " * 10, form % (number + 1)) for number in range(6, 16)}
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> /XObject << /L 6 0 R >> >> >>"
    )
    return pdf(
        {
            1: b"<< /Type /Catalog /Pages 2 0 R >>",
            2: b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, num_pages),
            4: stream(b"/L Do"),
            5: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            **laughs,
            16: stream(
                b"BT /F1 18 Tf 40 200 Td (costly) Tj ET",
                b"/Type /XObject /Subtype /Form /BBox [0 0 300 300] /Resources << /Font << /F1 5 0 R >> >>",
            ),
            **{100 + index: page for index in range(num_pages)},
        }
    )


def build(folder: Path, num_pages: int) -> int:
    """Writes the files, the good ones with a text layer that needs no model; returns the costly one's size in bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    data = costly(num_pages)
    (folder / "0-costly.pdf").write_bytes(data)
    for number in range(_GOOD):
        lines = f"good {number}\nThe harbour office keeps a ledger of every ship\nthat entered in the year of the flood"
        write_pdf(folder / f"{number + 1:02d}-good.pdf", [lines])
    return len(data)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=30)
    parser.add_argument("--timeout", type=float, default=4.0)
    options = parser.parse_args()
    num_bytes = build(options.folder / "docs", options.pages)
    database = options.folder / "costly.db"
    sets = (f"render.page_timeout_s={options.timeout}", "text_layer=prefer", "render.workers=2")
    command = [
        sys.executable,
        "-m",
        "pipeline.cli",
        "run",
        str(options.folder / "docs"),
        "--db",
        str(database),
    ]
    subprocess.run([*command, "--quiet", *(part for each in sets for part in ("--set", each))], check=False)
    with closing(open_for_reading(str(database))) as db:
        started, *_ = db.conn.execute("SELECT started_at FROM runs").fetchone()
        rows = db.conn.execute(
            "SELECT f.path, a.status, a.finished_at FROM attempts a JOIN pages p ON p.id = a.page_id"
            " JOIN files f ON f.document_id = p.document_id ORDER BY a.id"
        ).fetchall()
    is_good = [not path.endswith("0-costly.pdf") for path, _, _ in rows]
    last = max(index for index, good in enumerate(is_good) if good)
    waited_s = (datetime.fromisoformat(rows[last][2]) - datetime.fromisoformat(started)).total_seconds()
    print(
        json.dumps(
            {
                "bytes": num_bytes,
                "rows": len(rows),
                "order": "".join("g" if good else "C" for good in is_good),
                "costly_before_last_good": is_good[:last].count(False),
                "seconds_to_last_good": round(waited_s, 1),
            },
            indent=2,
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

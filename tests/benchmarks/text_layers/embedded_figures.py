"""Compares born-digital pages read by the model with their text layers, by text and by cost.

python -m tests.benchmarks.text_layers.embedded_figures DOCS [--pages N] [--seed S] [--json FILE]

DOCS: a folder of PDFs; uses one page with a trusted layer from each of N documents. For each of `text_layer` ignore and
auto, a run of the shipped model over all of them is a process of its own. Errors are edits per character of the layer
as MuPDF returns it, white space collapsed.
"""

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pymupdf
from rapidfuzz.distance import Levenshtein

from pipeline.text_layer.page import is_trusted
from storage.database import open_for_reading
from storage.export.rows import export_rows

_LEAST_CHARS = 400


def choose(docs: Path, num_pages: int, seed: int, folder: Path) -> dict[str, str]:
    """Writes single pages of different documents into a folder, and returns name -> the layer's text."""
    rng = random.Random(seed)
    files = sorted(docs.rglob("*.pdf"))
    rng.shuffle(files)
    chosen: dict[str, str] = {}
    for file in files:
        if len(chosen) == num_pages:
            break
        with pymupdf.open(file) as document:
            index = rng.randrange(len(document))
            text = _plain(document[index].get_text())
            if len(text) < _LEAST_CHARS or not is_trusted(document, index):
                continue
            name = f"{len(chosen):03}-{file.stem}-{index + 1}.pdf"
            document.select([index])
            document.save(folder / name, garbage=3)
            chosen[name] = text
    return chosen


def measure(folder: Path, texts: dict[str, str], use: str) -> dict[str, Any]:
    """Returns the figures of one run."""
    before = _cpu_s()
    with tempfile.TemporaryDirectory() as name:
        database = Path(name) / "results.db"
        command = [sys.executable, "-m", "pipeline.cli", "run", str(folder), "--db", str(database), "--quiet"]
        subprocess.run([*command, "--text-layer", use], check=False)
        with closing(open_for_reading(str(database))) as db:
            rows = list(export_rows(db))
    cpu_s = _cpu_s() - before
    errors = {Path(row["path"]).name: _rate(row["text"] or "", texts[Path(row["path"]).name]) for row in rows}
    statuses: dict[str, int] = {}
    for row in rows:
        statuses[row["status"]] = statuses.get(row["status"], 0) + 1
    return {
        "text_layer": use,
        "statuses": statuses,
        "cpu_s_a_page": round(cpu_s / len(rows), 2),
        "error_median": round(statistics.median(errors.values()), 4),
        "error_max": round(max(errors.values()), 4),
        "errors": {name: round(rate, 4) for name, rate in sorted(errors.items())},
    }


def _cpu_s() -> float:
    """Returns the CPU seconds of ended processes, workers included; starting and loading count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _rate(text: str, truth: str) -> float:
    return Levenshtein.distance(_plain(text), truth) / len(truth)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("docs", type=Path)
    parser.add_argument("--pages", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--uses", nargs="+", default=["ignore", "auto"])
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = choose(args.docs, args.pages, args.seed, folder)
        found = [measure(folder, texts, use) for use in args.uses]
    for one in found:
        print({key: value for key, value in one.items() if key != "errors"})
    if args.json:
        args.json.write_text(json.dumps(found, indent=2), encoding="utf-8")
    return 0 if texts else 1


if __name__ == "__main__":
    sys.exit(main())

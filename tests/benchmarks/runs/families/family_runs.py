"""Measures whole runs of every model family at its published size, with random weights, over real PDF pages.

python -m tests.benchmarks.runs.families.family_runs --output rows.json
python -m tests.benchmarks.runs.families.family_runs --models qwen3-vl-8b,glm-ocr --output rows.json
python -m tests.benchmarks.runs.families.family_runs --scale tiny --device cpu --tokens 16

Each model is written to a temporary folder (--folder; up to 18 GB, one at a time), read by `ocrbatch bench pipeline`,
whose report is shown, and removed. Random weights never end a text: each page gets at most --tokens new tokens, and
nothing reads a page again, so every page is expected to end as truncated. As in any short run no graph of the encoder
is captured before 16 batches of a size; --set encoder.budgets={...} captures those of given sizes. An output that is
there already is added to; a model that fails leaves a row with what it said.
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.runs.families.whole_sizes import WHOLE_SIZES

Row = dict[str, Any]
SAMPLES = Path(__file__).parents[3] / "samples"


def main(words: Sequence[str] | None = None) -> int:
    parser = _parser()
    chosen = parser.parse_args(words)
    names = chosen.models.split(",") if chosen.models else list(WHOLE_SIZES)
    if unknown := set(names) - set(WHOLE_SIZES):
        parser.error(f"no sizes for {', '.join(sorted(unknown))}; there are {', '.join(WHOLE_SIZES)}")
    rows: list[Row] = []
    if chosen.output and chosen.output.exists():
        rows = json.loads(chosen.output.read_text(encoding="utf-8"))
    for name in names:
        row = {"model": name, "scale": chosen.scale, **_measured(name, chosen)}
        rows = [kept for kept in rows if (kept["model"], kept["scale"]) != (name, chosen.scale)] + [row]
        if chosen.output:  # a run that is cut short keeps what it has
            chosen.output.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return int(any("error" in row for row in rows if row["model"] in names))


def _measured(name: str, chosen: argparse.Namespace) -> Row:
    """Writes a model, reads with it, and returns what was found: "written" and "run", or "error"."""
    with tempfile.TemporaryDirectory(prefix="ocrbatch-family-", dir=chosen.folder) as folder:
        model, out = Path(folder, "model"), Path(folder, "out.json")
        writing = [sys.executable, "-m", "tests.benchmarks.runs.families.random_checkpoints", name, model]
        writing += [out, "--scale", chosen.scale, "--device", chosen.device]
        reading = [sys.executable, "-m", "pipeline.cli", "bench", "pipeline", *chosen.docs, "--model", model]
        reading += ["--num-pages", chosen.pages, "--output-tokens", chosen.tokens, "--device", chosen.device]
        reading += ["--output-json", out, "--set", "store.doubtful_below=0"]
        reading += [word for one in chosen.sets for word in ("--set", one)]
        row: Row = {}
        for key, command in (("written", writing), ("run", reading)):
            error = _ended(list(map(str, command)), chosen.seconds)
            if error is not None:
                print(f"{name} ({chosen.scale}) FAILED: {error}", flush=True)
                return {**row, "error": error}
            row[key] = json.loads(out.read_text(encoding="utf-8"))
            if key == "written":
                size = f"{row[key]['parameters'] / 1e9:.2f} billion parameters"
                print(f"{name} ({chosen.scale}): {size}, written in {row[key]['write_s']:.0f} s", flush=True)
    return row


def _ended(command: Sequence[str], seconds: float) -> str | None:
    """Runs a command, its report shown, and ends it with all of its children; returns its error, None where none."""
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        _, said = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"ended by --seconds {seconds}"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    return f"{said[-4000:]}\nexit code {child.returncode}" if child.returncode else None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", help=f"of {','.join(WHOLE_SIZES)}; by default all")
    parser.add_argument("--pages", type=int, default=10)
    parser.add_argument(
        "--docs", nargs="+", default=sorted(map(str, SAMPLES.glob("*.pdf"))), help="PDFs of tests/samples"
    )
    parser.add_argument("--tokens", type=int, default=256, help="most new tokens of a page")
    parser.add_argument("--scale", choices=["tiny", "published"], default="published")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--set", dest="sets", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--folder", type=Path, help="for temporary files, such as /dev/shm")
    parser.add_argument("--seconds", type=float, default=300.0, help="limit of writing, and of reading")
    parser.add_argument("--output", type=Path, help="a JSON file of all rows")
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""Measures whole runs of every model family at its published size, with random weights, over real PDF pages.

python -m tests.benchmarks.runs.families.family_runs --output rows.json
python -m tests.benchmarks.runs.families.family_runs --models qwen3-vl-8b,glm-ocr --output rows.json
python -m tests.benchmarks.runs.families.family_runs --scale tiny --device cpu --tokens 16

Each model is written to a temporary folder (--folder; up to 18 GB, one at a time), read by a process of its own, and
removed. Random weights never end a text: each page gets at most --tokens new tokens, and nothing reads a page again, so
every page is expected to end as truncated. Arms: "default" runs as `ocrbatch run` does, which captures no graph of the
encoder before 16 batches of a size; "graphs" runs once more, with the sizes of these very pages in encoder.budgets, and
the model in memory. An output that is there already is added to; a model that fails leaves a row with its traceback.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.runs.families.whole_sizes import WHOLE_SIZES

Row = dict[str, Any]
SAMPLES = Path(__file__).parents[3] / "samples"
ARMS = ("default", "graphs")


def main(words: Sequence[str] | None = None) -> int:
    chosen = _parser().parse_args(words)
    names = chosen.models.split(",") if chosen.models else list(WHOLE_SIZES)
    if unknown := set(names) - set(WHOLE_SIZES):
        _parser().error(f"no sizes for {', '.join(sorted(unknown))}; there are {', '.join(WHOLE_SIZES)}")
    if chosen.child:
        return _child(chosen)
    rows: list[Row] = []
    if chosen.output and chosen.output.exists():
        rows = json.loads(chosen.output.read_text(encoding="utf-8"))
    for name in names:
        for row in _model_rows(name, chosen):
            rows = [kept for kept in rows if _key(kept) != _key(row)] + [row]
            print("\n".join(told(row)), flush=True)
            if chosen.output:  # a run that is cut short keeps what it has
                chosen.output.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return int(any("error" in row for row in rows if row["model"] in names))


def told(row: Row) -> Iterator[str]:
    """Yields the lines that tell of a row."""
    yield f"{row['model']} ({row['scale']}), {row['arm']}:"
    if "error" in row:
        yield "  FAILED " + row["error"].strip().rpartition("\n")[2]
        return
    speeds = f"{row['pages_s'] or 0:.3f} pages/s, {row['pages_s_since_loaded'] or 0:.3f} since the model was loaded"
    statuses = ", ".join(f"{count} {name}" for name, count in row["statuses"].items())
    yield f"  {row['parameters'] / 1e9:.2f} billion parameters, written in {row['write_s']:.0f} s; {speeds}"
    yield f"  {row['share_with_status']:.0%} of {row['pages']} pages ended: {statuses}"
    yield f"  {row['num_tokens']} tokens written, at most {row['most_new_tokens']} a page, as random weights never end"
    for path, its in row["encoder"].items():
        uses = f"{its['hits']} hits, {its['misses']} misses, {its['eager']} eager"
        yield f"  encoder {path}: {uses}; padding {its['padding_share']:.1%}; graphs {its['graph_mib']} MiB"
    yield f"  peak GPU memory {row['peak_allocated_mib']} MiB allocated, {row['peak_gpu_mib']} MiB in all"
    yield "  busy s: " + ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in row["busy_s"].items())
    yield from (f"  failure: {failure}" for failure in row["failures"])
    yield from (f"  warning: {warning}" for warning in row["warnings"])


def _model_rows(name: str, chosen: argparse.Namespace) -> Iterator[Row]:
    """Yields the rows of one model, from a process of its own that is ended with all of its children."""
    failed: Row = {"model": name, "scale": chosen.scale}
    with tempfile.TemporaryDirectory(prefix="ocrbatch-family-", dir=chosen.folder) as folder:
        log = Path(folder, "log")
        command = [sys.executable, "-m", __spec__.name if __spec__ else __name__, "--child", folder]
        for option in ("pages", "tokens", "scale", "device", "arms"):
            command += [f"--{option}", str(getattr(chosen, option))]
        command += [word for one in chosen.sets for word in ("--set", one)]
        command += [word for one in chosen.docs for word in ("--docs", str(one))]
        with log.open("wb") as out:
            child = subprocess.Popen(
                [*command, "--models", name], stdout=out, stderr=out, start_new_session=True
            )
            try:
                code: int | None = child.wait(chosen.seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        found = [json.loads(line) for line in _lines(Path(folder, "rows"))]
        yield from found
        if code != 0 and not any("error" in row for row in found):
            ended = f"ended by --seconds {chosen.seconds}" if code is None else f"exit code {code}"
            tail = log.read_text(encoding="utf-8", errors="replace")[-4000:]
            missing = [arm for arm in chosen.arms.split(",") if arm not in {row["arm"] for row in found}]
            yield failed | {"arm": missing[0] if missing else "end", "error": f"{tail}\n{ended}"}


def _child(chosen: argparse.Namespace) -> int:
    """Measures one model; writes each row to the parent's folder as soon as it is there."""
    arms = chosen.arms.split(",")
    done: list[str] = []
    try:
        from pipeline.bench.real_pages import copy_pages

        pages = Path(chosen.child, "pages")
        pages.mkdir()
        docs = [str(path) for path in chosen.docs or sorted(SAMPLES.glob("*.pdf"))]
        num_pages = copy_pages(docs, chosen.pages, pages)
        from tests.benchmarks.runs.families import one_model  # imports torch, which takes seconds

        device = chosen.device
        if device == "auto":
            import torch

            device = "cuda" if torch.cuda.is_available() else "cpu"
        asked = one_model.Asked(
            name=chosen.models,
            size=WHOLE_SIZES[chosen.models],
            tiny=chosen.scale == "tiny",
            pages=pages,
            num_pages=num_pages,
            tokens=chosen.tokens,
            device=device,
            arms=arms,
            sets=chosen.sets,
        )
        for row in one_model.rows(asked, Path(chosen.child)):
            _add(chosen.child, row)
            done.append(row["arm"])
    except Exception:
        arm = next((arm for arm in arms if arm not in done), "end")
        failed = {"model": chosen.models, "scale": chosen.scale, "arm": arm, "error": traceback.format_exc()}
        _add(chosen.child, failed)
        return 1
    finally:
        shutil.rmtree(Path(chosen.child, "model"), ignore_errors=True)
    return 0


def _add(folder: str, row: Row) -> None:
    with Path(folder, "rows").open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def _key(row: Row) -> tuple[str, str, str]:
    return row["model"], row["scale"], row["arm"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", help=f"of {','.join(WHOLE_SIZES)}; by default all")
    parser.add_argument("--pages", type=int, default=10)
    parser.add_argument(
        "--docs", type=Path, action="append", default=[], help="default: PDFs of tests/samples"
    )
    parser.add_argument("--tokens", type=int, default=256, help="most new tokens of a page")
    parser.add_argument("--scale", choices=["tiny", "published"], default="published")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--arms", default=",".join(ARMS), help="default: %(default)s")
    parser.add_argument("--set", dest="sets", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--folder", type=Path, help="for temporary files, such as /dev/shm")
    parser.add_argument("--seconds", type=float, default=300.0, help="limit of one model")
    parser.add_argument("--output", type=Path, help="a JSON file of all rows")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())

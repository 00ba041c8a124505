"""Measures every family's encoder with and without graphs, and says which bars are met.

python -m tests.benchmarks.encoder.encoder_families --output families.json
python -m tests.benchmarks.encoder.encoder_families --models qwen3-vl-8b,minicpm-v-4.5 --output families.json
python -m tests.benchmarks.encoder.encoder_families --quick

Random weights at published sizes, or with --quick tiny ones on the CPU, where graphs are played by eager runs and
their times mean nothing. An output that is there already is added to. Lines of "bars" are what a release promises.
"""

import argparse
import gc
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from pipeline.bench.encoding.encoder_bench import BenchSettings, bench
from pipeline.bench.encoding.published_sizes import SIZES
from pipeline.bench.encoding.requests import Size
from pipeline.bench.encoding.subjects import EncoderSubject, random_subject
from tests.benchmarks.encoder.tiny_families import TINY, TINY_CASES
from tests.encoders.graphs.eager_capture import EagerCapture

Row = dict[str, Any]
# Images as users have them: A4 and Letter pages, slides, photographs, receipts, icons.
MIXED: dict[Size, float] = {
    (1684, 1190): 0.3, (1190, 1684): 0.1, (1584, 1224): 0.1, (1024, 1024): 0.1, (720, 1280): 0.1, (1500, 500): 0.1,
    (640, 480): 0.1, (300, 900): 0.05, (224, 224): 0.05,
}  # fmt: skip
_SLOWER, _FASTER, _PADDING = 1.02, 1.3, 0.05
_MEMORY = 8 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One shape of requests. frames: of videos, 0 for images. num_prompts: requests, batch_size at once."""

    name: str
    buckets: Mapping[Size, float]
    num_prompts: int
    batch_size: int = 1
    frames: int = 0
    mixed: bool = False


CASES = (
    Case(name="image 448, 1", buckets={(448, 448): 1.0}, num_prompts=24),
    Case(name="image 448, 8", buckets={(448, 448): 1.0}, num_prompts=64, batch_size=8),
    Case(name="image 1024, 1", buckets={(1024, 1024): 1.0}, num_prompts=24),
    Case(name="image 1024, 32", buckets={(1024, 1024): 1.0}, num_prompts=96, batch_size=32),
    Case(name="A4, 1", buckets={(1684, 1190): 1.0}, num_prompts=24),
    Case(name="mixed, 1", buckets=MIXED, num_prompts=48, mixed=True),
    Case(name="mixed, 32", buckets=MIXED, num_prompts=96, batch_size=32, mixed=True),
    Case(name="video 8 x 448", buckets={(448, 448): 1.0}, num_prompts=16, frames=8),
    Case(name="video 32 x 448", buckets={(448, 448): 1.0}, num_prompts=16, frames=32),
)


def measured(
    name: str, subject: EncoderSubject, case: Case, settings: Mapping[str, Any], *, quick: bool
) -> Row:
    """Returns one row of the table. Times are in ms a request, medians over the batches."""
    asked = BenchSettings(
        model=f"random:{name}",
        buckets=dict(case.buckets),
        num_prompts=case.num_prompts,
        batch_size=case.batch_size,
        frames=case.frames,
        **settings,
    )
    capture = EagerCapture(torch.device("cpu")) if quick else None
    try:
        result = bench(asked, subject, capture)
    except torch.OutOfMemoryError:  # as a rule transformers', whose attention writes all scores down
        gc.collect()
        torch.cuda.empty_cache()
        result = bench(replace(asked, arms=("eager", "graph")), subject, capture)
    paths = [stats for arm in result["arms"] for stats in arm["statistics"].values()]
    padding, real = (sum(its[key] for its in paths) for key in ("padding_tokens", "replayed_tokens"))
    return {
        "model": name,
        "case": case.name,
        "batch_size": case.batch_size,
        "frames": case.frames,
        "mixed": case.mixed,
        "ms": {arm["arm"]: arm["page_ms"] for arm in result["arms"]},
        "hits": sum(its["hits"] for its in paths),
        "units": sum(its["hits"] + its["misses"] + its["eager"] for its in paths),
        "padding": padding / (padding + real) if real else 0.0,
        "graph_bytes": sum(its["graph_bytes"] for its in paths),
        "capture_s": sum(its["capture_seconds"] for its in paths),
        "left_out": [axis for its in paths for axis in its["left_out"].values() if axis],
        "parity": result["parity"],
    }


def bars(rows: Sequence[Row], memory_limit: int) -> Iterator[tuple[bool, str]]:
    """Yields whether each bar is met, and what it says."""
    speeds = [(row["ms"]["eager"] / row["ms"]["graph"], row) for row in rows]
    slowest = min(speeds, key=lambda entry: entry[0])
    yield slowest[0] >= 1 / _SLOWER, f"never over 2% slower than eager: {_told(*slowest)}"
    for model in dict.fromkeys(row["model"] for row in rows):
        alone = [entry for entry in speeds if entry[1]["model"] == model and entry[1]["batch_size"] == 1]
        images = [entry for entry in alone if not entry[1]["frames"]]
        if images:
            least = min(images, key=lambda entry: entry[0])
            yield least[0] >= _FASTER, f"1.3 times eager's speed at batch 1: {_told(*least)}"
        for speed, row in alone:
            if row["frames"]:
                yield speed > 1, f"video faster than eager: {_told(speed, row)}"
    for row in rows:
        if row["mixed"]:
            share = row["padding"]
            yield share < _PADDING, f"padding under 5%: {row['model']}, {row['case']}: {share:.1%}"
    most = max(rows, key=lambda row: row["graph_bytes"])
    told = f"{most['model']}, {most['case']}: {most['graph_bytes'] / 2**20:.0f} MiB"
    yield most["graph_bytes"] <= memory_limit, f"captured within {memory_limit >> 20} MiB: {told}"


def _told(speed: float, row: Row) -> str:
    return f"{row['model']}, {row['case']}: {speed:.2f}x"


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yields the table's lines, in Markdown."""
    yield "| model | requests | transformers | eager | graph | x eager | x transf. | hits | pad | MiB | parity |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        ms, graph = row["ms"], row["ms"]["graph"]
        cells = [f"{ms[arm]:.2f}" if arm in ms else "" for arm in ("reference", "eager", "graph")]
        faster = [f"{ms[arm] / graph:.2f}" if arm in ms else "" for arm in ("eager", "reference")]
        errors = ", ".join(f"{error:.0e}" for error in row["parity"].values())
        rest = [f"{row['hits']}/{row['units']}", f"{row['padding']:.1%}", f"{row['graph_bytes'] / 2**20:.0f}"]
        yield "| " + " | ".join([row["model"], row["case"], *cells, *faster, *rest, errors]) + " |"


def _fits(case: Case, subject: EncoderSubject) -> bool:
    return not case.frames or subject.video_maker is not None


def _rows(names: Sequence[str], settings: Mapping[str, Any], *, quick: bool) -> Iterator[Row]:
    device, dtype = torch.device(settings["device"]), getattr(torch, settings["dtype"])
    for name in names:
        subject = random_subject((TINY if quick else SIZES)[name], device, dtype)
        for case in TINY_CASES if quick else CASES:
            shape = Case(**case) if isinstance(case, dict) else case
            if _fits(shape, subject):
                yield measured(name, subject, shape, settings, quick=quick)
        del subject
        gc.collect()
        if device.type == "cuda":
            torch.cuda.empty_cache()


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", help="names of sizes, separated by commas; by default all")
    parser.add_argument("--budgets", choices=["default", "auto", "fitted"], default="fitted")
    parser.add_argument("--memory-limit", type=int, default=_MEMORY >> 20, metavar="MIB")
    parser.add_argument("--output", type=Path, help="a JSON file of all rows")
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args(words)
    known = TINY if chosen.quick else SIZES
    names = chosen.models.split(",") if chosen.models else list(known)
    if unknown := set(names) - set(known):
        parser.error(f"no sizes for {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    settings = {
        "device": "cpu" if chosen.quick else "cuda",
        "dtype": "float32" if chosen.quick else "bfloat16",
        "budgets": chosen.budgets,
        "memory_limit": chosen.memory_limit << 20,
        "num_warmups": 1 if chosen.quick else 3,
    }
    rows = json.loads(chosen.output.read_text()) if chosen.output and chosen.output.exists() else []
    for row in _rows(names, settings, quick=chosen.quick):
        rows = [kept for kept in rows if (kept["model"], kept["case"]) != (row["model"], row["case"])]
        rows.append(row)
        print(list(table([row]))[-1], flush=True)
        if chosen.output:  # a run that is cut short keeps what it has
            chosen.output.write_text(json.dumps(rows, indent=2) + "\n")
    print("\n".join(["", *table(rows), ""]))
    for met, told in bars(rows, settings["memory_limit"]):
        print("met " if met else "MISSED", told)


if __name__ == "__main__":
    main()

"""Makes every figure of the tables in README.md, ocr/families/MODELS.md and, by kind of page, in the model card.

Compares them with those before.

    python -m tests.benchmarks.headline cpu --data DIR
    python -m tests.benchmarks.headline gpu --documents DIR

DIR: the sets that `python -m tests.benchmarks.quality build-unseen` builds; documents to read on a GPU. Figures go
into headline.json beside this file, by their runs, each with its commit, machine and yardsticks; one that is not made
keeps its last. Ends with 1 where one is more than 10% worse than the last on the same kind of machine, beside
the yardstick (Tesseract's CPU seconds; a matrix product's and a copy's rate), and with 2 where a command fails or a set
is missing. Quality is of all pages, costs are of 16, so that the CPU's part ends in 10 minutes on two cores that are
otherwise idle: 330 CPU seconds of quality and 180 of costs, at 1.0 to 1.6 a page. The first time Tesseract has to read
all the sets as well (500 CPU seconds more); its texts are kept in DIR.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_suffix(".json")
ROOT = Path(__file__).parents[2]
WORSE = 1.10
_QUALITY = "python -m tests.benchmarks.quality measure {data} --json {out}"
_PIPELINE = "python -m ocrbatch bench pipeline {documents} --output-json {out}"
_FULL_SIZE = "--model random --dtype bfloat16 --output-tokens 1000 --set decode.pdf.size=0"
_RATES = (
    "import json, sys, torch; from pipeline.bench.roofline.rates import measure_rates as rates; "
    "found = rates(torch.device('cuda' * torch.cuda.is_available() or 'cpu'), torch.bfloat16); "
    "json.dump({'matrix': found.matrix_flops_s, 'copy': found.copy_bytes_s} if found else {}, open(sys.argv[1], 'w'))"
)

Figures = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A command that makes figures. part: "cpu" or "gpu". needs: the folder in DIR without which it is left out.

    parse: returns figures by their keys from the JSON that the command wrote. repeats: how often it is run; the median
    counts.
    """

    part: str
    command: str
    parse: Callable[[Any], Figures]
    needs: str | None = None
    repeats: int = 1


def _quality(written: Any) -> Figures:
    found = {}
    for its in written["sets"]:
        for row in its["rows"]:
            kind = its["set_name"] if row["category"] == "all" else f"{its['set_name']}.{row['category']}"
            for name in ("cer", "median_cer", "f1"):
                found[f"{kind}.{name}.{its['engine']}"] = row[name]
    return found


def _costs(written: Any) -> Figures:
    return {f"{its['set_name']}.cpu_s.{its['engine']}": its["cpu_s"] for its in written["sets"]}


def _speed(key: str) -> Callable[[Any], Figures]:
    def speed(written: Any) -> Figures:
        (since,) = (its for its in written["speeds"] if its["name"] == "since the model was loaded")
        return {f"{key}.pages_s": since["pages_s"]}

    return speed


MEASUREMENTS = (
    *(
        Measurement(
            part="cpu",
            needs=name,
            command=f"{_QUALITY} --sets {name} --tesseract-cache {{data}}/tesseract",
            parse=_quality,
        )
        for name in ("digital", "scans", "composed")
    ),
    *(
        Measurement(
            part="cpu", needs=name, command=f"{_QUALITY} --sets {name} --limit 16", parse=_costs, repeats=2
        )
        for name in ("digital", "scans")
    ),
    Measurement(
        part="gpu", command=f"{_PIPELINE} {_FULL_SIZE} --num-pages {{full_pages}}", parse=_speed("full_size")
    ),
)
# The figures of the tables, cell by cell in their order, each with how it is shown.
_TENTHS, _SHARE = "{:.1%}", "{:.3f}"
_ENGINES = ("ocrbatch", "tesseract")
README: tuple[tuple[str, str], ...] = tuple(
    (f"{key}.{engine}", shown)
    for key, shown in (
        *(
            (f"{name}.{what}", shown)
            for name in ("digital", "scans", "composed")
            for what, shown in (("cer", _TENTHS), ("median_cer", _TENTHS), ("f1", _SHARE))
        ),
        ("composed.receipt.f1", _SHARE),
        ("composed.newspaper.cer", _TENTHS),
        ("digital.cpu_s", "{:.1f}"),
        ("scans.cpu_s", "{:.1f}"),
    )
    for engine in _ENGINES
)
# By kind of page, in the model card's first table.
KINDS = {
    "digital": ("table", "book", "card", "manual", "paper"),
    "composed": (
        *("fax", "form", "letter", "magazine", "newspaper", "photo"),
        *("receipt", "screenshot", "slide", "spread"),
    ),
    "scans": ("catalogue", "gazette", "handwriting", "old_book", "old_letter", "typescript"),
}
CARD: tuple[tuple[str, str], ...] = tuple(
    (f"{name}.{what}.{engine}", shown)
    for whole, kinds in KINDS.items()
    for name in (*(f"{whole}.{kind}" for kind in kinds), whole)
    for what, shown in (("cer", _TENTHS), ("median_cer", _TENTHS), ("f1", _SHARE))
    for engine in _ENGINES
)
MODELS = (("full_size.pages_s", "{:.1f}"),)


def shown(figures: Mapping[str, Mapping[str, Any]], cells: Sequence[tuple[str, str]]) -> list[str]:
    """Returns the tables' cells as the documents have them: shares without their zero."""
    return [
        form.format(figures[key]["value"]).removeprefix("0" if form == _SHARE else "-") for key, form in cells
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=("cpu", "gpu"))
    parser.add_argument("--data", type=Path, help="folder of the unseen sets")
    parser.add_argument("--documents", type=Path, default=ROOT / "tests" / "samples", help="read on the GPU")
    parser.add_argument("--full-pages", type=int, default=1200, help="for the model of full size")
    parser.add_argument("--only", default="", help="only measurements whose command has this text")
    parser.add_argument("--file", type=Path, default=FILE, help="where figures are kept")
    options, began = parser.parse_args(), time.monotonic()
    kept = load(options.file) if options.file.exists() else {}
    faults: list[str] = []
    made = dict(_measure(options, faults))
    faults += worse(kept, made)
    save(options.file, kept | made)
    for key, figure in sorted(made.items()):
        print(
            f"{key}: {kept.get(key, {}).get('value')} -> {figure['value']:.4g} (spread {figure['spread']:.2g})"
        )
    print(*(faults or ["no figure is worse"]), f"{time.monotonic() - began:.0f} s in all", sep="\n")
    return 2 if any(fault.startswith("not made") for fault in faults) else int(bool(faults))


def load(path: Path = FILE) -> dict[str, dict[str, Any]]:
    """Returns each figure by its key, with its value and spread, and what is told of its run."""
    figures = {}
    for run in json.loads(path.read_text(encoding="utf-8")):
        values, spreads = run.pop("values"), run.pop("spreads")
        figures |= {
            key: {"value": value, "spread": spreads.get(key, 0.0), **run} for key, value in values.items()
        }
    return figures


def save(path: Path, figures: Mapping[str, Mapping[str, Any]]) -> None:
    """Writes figures as `load` returns them, those of a command's run together."""
    runs: dict[str, dict[str, Any]] = {}
    for key, figure in sorted(figures.items()):
        about = {name: its for name, its in figure.items() if name not in ("value", "spread")}
        run = runs.setdefault(json.dumps(about), {**about, "values": {}, "spreads": {}})
        run["values"][key] = figure["value"]
        if figure["spread"]:
            run["spreads"][key] = figure["spread"]
    path.write_text(json.dumps(list(runs.values()), indent=1) + "\n", encoding="utf-8")


def worse(kept: Mapping[str, Mapping[str, Any]], made: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Returns a line for each figure that is more than 10% worse than the one kept of the same kind of machine.

    Figures of speed are held against it as the yardsticks of their runs tell: their ratios' median. Those of a kind of
    few pages are not held against it: a letter may be a tenth.
    """
    lines = []
    few = {cell for cell, _ in CARD} - {cell for cell, _ in README}
    for key, new in made.items():
        old = kept.get(key)
        if old is None or old["machine"] != new["machine"] or key in few:
            continue
        is_cost, is_rate = ".cpu_s." in key, key.endswith(".pages_s")
        ratio = new["value"] / max(old["value"], 1e-9)
        if is_cost or is_rate:
            steps = [new["yardsticks"][name] / rate for name, rate in old["yardsticks"].items()]
            ratio /= statistics.median(steps or [1.0])
        if (1 / max(ratio, 1e-9) if is_rate or ".f1." in key else ratio) > WORSE:
            lines.append(f"worse: {key} {old['value']:.4g} at {old['commit']}, now {new['value']:.4g}")
    return lines


def _measure(options: argparse.Namespace, faults: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the figures of a part; what cannot be made is added to the faults.

    On a CPU two commands run at once, each on one thread; on a GPU one after the other.
    """
    chosen = [one for one in MEASUREMENTS if one.part == options.part and options.only in one.command]
    yardsticks = _yardsticks(options)
    about = {"commit": _commit(), "machine": _machine(options.part), "yardsticks": yardsticks}

    def run(one: Measurement) -> list[Figures] | str:
        if one.needs and not (options.data and (options.data / one.needs).is_dir()):
            return (
                f"not made: {one.needs}: --data DIR with python -m tests.benchmarks.quality build-unseen DIR"
            )
        try:
            return [one.parse(_written(one.command, options)) for _ in range(one.repeats)]
        except subprocess.CalledProcessError as error:
            return f"not made: {shlex.join(error.cmd)}: {error.stderr[-800:]}"

    with ThreadPoolExecutor(2 if options.part == "cpu" else 1) as at_once:
        for one, runs in zip(chosen, at_once.map(run, chosen), strict=True):
            if isinstance(runs, str):
                faults.append(runs)
                continue
            for key in sorted(runs[0].keys() & {cell for cell, _ in (*README, *CARD, *MODELS)}):
                values = [run[key] for run in runs]
                figure = {"value": statistics.median(values), "spread": max(values) - min(values)}
                yield key, {**figure, "command": one.command, **about}


def _written(command: str, options: argparse.Namespace) -> Any:
    """Returns the JSON that a command writes. Raises: CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        words = [word.format(out=out, **vars(options)) for word in shlex.split(command)]
        words = [sys.executable if word == "python" else word for word in words]
        # Without what Python compiled each start is .3 CPU seconds a page dearer.
        env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        subprocess.run(words, check=True, capture_output=True, text=True, cwd=ROOT, env=env)
        return json.loads(out.read_text(encoding="utf-8"))


def _yardsticks(options: argparse.Namespace) -> dict[str, float]:
    """Returns what the machine reaches now: a GPU's rates, or Tesseract's speed on the samples."""
    if options.part == "gpu":
        found = _written(
            f"python -c {shlex.quote(_RATES.replace('{', '{{').replace('}', '}}'))} {{out}}", options
        )
        return dict(found)
    from tests.benchmarks.quality.readings.engines import tesseract

    samples = [ROOT / "tests" / "samples" / name for name in ("letter.png", "photo.jpg", "fax.tiff")]
    spent = [tesseract(samples).cpu_s or 0.0 for _ in range(3)]
    return {"tesseract_cpu_s": statistics.median(spent)}


def _commit() -> str:
    """Returns the commit, or where git knows none what the environment says."""
    asked = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.stdout.strip() or os.environ.get("OCRBATCH_COMMIT", "unknown")


def _machine(part: str) -> str:
    import torch

    from pipeline.bench.machine import describe

    found = describe(torch.device("cuda" if part == "gpu" and torch.cuda.is_available() else "cpu"))
    return f"{found.get('gpu', found['cpu'])}, {found['cpus']} CPUs"


if __name__ == "__main__":
    sys.exit(main())

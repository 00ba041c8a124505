"""Compares the stages' busy times of a run with those seen from outside its threads and processes.

    python -m tests.benchmarks.runs.stage_sums FOLDER [--num-pages 8] [--device cpu] [--set KEY=VALUE] [--within 0.1]

Runs the shipped model over the folder's pages. For each stage: seconds that the run reports as busy, and seconds that
samples of its threads or processes saw it at work (tests.benchmarks.runs.thread_samples). Both are wall time, including
that of a thread that waits for a CPU, so that they can be compared on a busy machine, too. Exit code 1 if the sum
of the stages, or a stage with at least a twentieth of it, is off by more than --within, or if more work than that is in
no stage. One JSON object on the last line.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.benchmarks.runs.thread_samples import ThreadSamples

# A stage with less than this share of the total is too short for samples to measure.
LEAST_SHARE = 0.05


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--num-pages", type=int)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--set", action="append", default=[], dest="sets", metavar="KEY=VALUE")
    parser.add_argument("--within", type=float, default=0.1)
    arguments = parser.parse_args()
    files = sorted(path for path in arguments.folder.iterdir() if path.is_file())[: arguments.num_pages]
    found = measure(files, arguments.device, arguments.sets)
    reported, seen = found["reported_s"], found["seen_s"]
    assert isinstance(reported, dict)
    assert isinstance(seen, dict)
    cpu = found["cpu_s"]
    assert isinstance(cpu, dict)
    print(f"{'stage':<26}{'reported s':>12}{'seen s':>10}{'reported/seen':>15}{'its threads on a CPU s':>24}")
    for name in sorted({*reported, *seen}, key=lambda name: (name not in reported, name)):
        ratio = f"{reported[name] / seen[name]:.2f}" if reported.get(name) and seen.get(name) else ""
        on_cpu = f"{cpu[name]:.2f}" if name in cpu else ""
        print(f"{name:<26}{reported.get(name, 0):>12.2f}{seen.get(name, 0):>10.2f}{ratio:>15}{on_cpu:>24}")
    faults = misfits(reported, seen, arguments.within)
    for fault in faults:
        print(fault)
    print(json.dumps({**found, "misfits": faults}))
    return 1 if faults else 0


def measure(files: list[Path], device: str, sets: list[str]) -> dict[str, object]:
    """Returns reported_s and seen_s, seconds at work of each stage, and the run's amount of work."""
    from pipeline.config.sources import layers, load
    from pipeline.device.startup.loading import render_workers
    from pipeline.reports.progress import Silent
    from pipeline.run import runner
    from pipeline.stop import Stop

    with tempfile.TemporaryDirectory() as folder:
        options = {
            "PATH": ("ingest.paths", [str(path) for path in files]),
            "--db": ("store.database", f"{folder}/results.db"),
            "--device": ("device", device),
            "--text-layer": ("text_layer", "ignore"),
        }
        config = load(None, sets, layers(options))
        with ThreadSamples() as samples:
            summary = runner.run(config, Silent(), Stop())
    # A stage's share is relative to all of its processes.
    shares = dict.fromkeys(("discover", "render"), render_workers(config))
    return {
        "pages": dict(summary.pages),
        "wall_s": round(summary.wall_s, 2),
        "load_s": round(summary.load_s, 2),
        "num_samples": samples.num_samples,
        "render_workers": render_workers(config),
        "reported_s": {
            stage.name: round(stage.busy * summary.wall_s * shares.get(stage.name, 1), 2)
            for stage in summary.stages
        },
        "seen_s": rounded(samples.busy_s),
        "cpu_s": rounded(samples.cpu_s),
    }


def rounded(seconds: Mapping[str, float]) -> dict[str, float]:
    """Returns the entries of a hundredth of a second or more."""
    return {name: round(value, 2) for name, value in sorted(seconds.items()) if value >= 0.01}


def misfits(reported: Mapping[str, float], seen: Mapping[str, float], within: float) -> list[str]:
    """Returns a sentence for each stage that is off by more than `within`, for the sum, and for work in no stage.

    Loading the model is no stage: it comes before, and is reported separately. Files are inspected by the
    processes that render, so that is compared with them.
    """
    reported, seen = dict(reported), dict(seen)
    seen.pop("loading", None)
    for found in (reported, seen):
        if "discover" in found:
            found["render"] = found.get("render", 0.0) + found.pop("discover")
    stages = {name: seconds for name, seconds in seen.items() if not name.startswith("(")}
    total, elsewhere = sum(seen.values()), sum(seen.values()) - sum(stages.values())
    faults = [
        f"{name}: {reported.get(name, 0.0):.2f} s reported, {seconds:.2f} s seen"
        for name, seconds in stages.items()
        if seconds >= LEAST_SHARE * total and abs(reported.get(name, 0.0) - seconds) > within * seconds
    ]
    if abs(sum(reported.values()) - total) > within * total:
        faults.append(f"all stages: {sum(reported.values()):.2f} s reported, {total:.2f} s seen")
    if elsewhere > within * total:
        faults.append(f"work in no stage: {elsewhere:.2f} of {total:.2f} s")
    return faults


if __name__ == "__main__":
    sys.exit(main())

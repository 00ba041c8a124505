"""Starts the command line again and again with the page model, several at once, and counts the starts that fail:

python -m tests.faults.deaths.starts --runs 100 --at-once 8 --device cuda

Every other run has the model in two processes; few pages at once, so that all have room on one GPU: a process takes 6
GB of it. One JSON line for each start, and one for all.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LETTER = Path(__file__).parents[2] / "samples" / "letter.png"


def started(number: int, device: str) -> tuple[float, bool]:
    """Returns the seconds of one run over a letter, and whether it failed; prints both, and the end of what it said."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pipeline.cli", "run", str(LETTER), "-v", "--device", device]
        command += ["--db", f"{folder}/results.db"]
        for key in ("reader=page", "decode.batch_size=16", f"run.replicas={1 + number % 2}"):
            command += ["--set", key]
        began = time.perf_counter()
        run = subprocess.run(
            command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
    seconds = time.perf_counter() - began
    said = run.stdout.splitlines()[-12:] if run.returncode else "ok"
    print(json.dumps({"start": number, "seconds": seconds, "said": said}), flush=True)
    return seconds, run.returncode != 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--at-once", type=int, default=8)
    asked = parser.parse_args()
    with ThreadPoolExecutor(asked.at_once) as together:
        made = list(together.map(lambda number: started(number, asked.device), range(asked.runs)))
    failed = sum(has_failed for _, has_failed in made)
    median = statistics.median(seconds for seconds, _ in made)
    print(json.dumps({"runs": asked.runs, "failed": failed, "seconds_median": median}))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())

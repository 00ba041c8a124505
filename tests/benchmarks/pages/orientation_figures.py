"""Measures how often pages are turned correctly, and what detecting the turn costs.

python -m tests.benchmarks.pages.orientation_figures FOLDER ... [--wear fax]

FOLDER: upright pictures of pages, as in the sets of `python -m tests.benchmarks.quality build-unseen`. Each is examined
upright and turned three ways, as a run examines scans, by its pixels.

right: turned correctly. not sure: left as it is, with a turn that a second reading would try. wrong: turned otherwise,
or a turned page taken for upright; of these false ones are turns of an upright page. Times are CPU milliseconds of the
detection alone, which takes one thread.
"""

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from ocr.orientation.detect import ANGLES, Angle, Orientation, detect
from tests.faults.statuses.pages import WEAR

VERDICTS = ("right", "not sure", "wrong", "false")


def verdict(turn_deg: Angle, found: Orientation) -> str:
    """Returns one of VERDICTS. turn_deg: the clockwise turn that the page needs."""
    if found.angle_deg and found.angle_deg != turn_deg:
        return "wrong" if turn_deg else "false"
    if found.runner_up_deg is not None:
        return "not sure"
    return "right" if found.angle_deg == turn_deg else "wrong"


def table(pictures: Sequence[Path], wear: str) -> Iterator[str]:
    """Yields a line for each kind of page (the start of its name) and turn, then one for times; and pages not right."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    spent_ms: dict[str, list[float]] = defaultdict(list)
    for number, path in enumerate(pictures):
        with Image.open(path) as opened:
            page = WEAR[wear](opened.convert("RGB"), number).convert("RGB")
        for turn in ANGLES:
            pixels = np.ascontiguousarray(np.rot90(np.asarray(page), turn // 90))
            began = time.process_time()
            found = detect(pixels)
            spent_ms["turned" if turn else "upright"].append(1e3 * (time.process_time() - began))
            said = verdict(turn, found)
            for group in (path.name.split("-")[0], f"needs a turn by {turn}"):
                counts[group][said] += 1
            if said != "right":
                yield f"{said}: {path} needs {turn}, found {found}"
    yield f"{'':24}" + "".join(f"{name:>10}" for name in VERDICTS)
    for group, seen in sorted(counts.items()):
        yield f"{group:24}" + "".join(f"{seen[name]:10}" for name in VERDICTS)
    for name, times in spent_ms.items():
        median, late = np.percentile(times, (50, 95))
        yield f"{name} pages: median {median:.1f} ms, 95th percentile {late:.1f} ms of CPU"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.pages.orientation_figures",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--wear", choices=WEAR, default="clean", help="of every page before it is turned")
    args = parser.parse_args(arguments)
    pictures = [path for folder in args.folders for path in sorted(folder.iterdir()) if path.is_file()]
    for line in table(pictures, args.wear):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

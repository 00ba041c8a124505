"""Measures the process that stores what workers read, with workers that read nothing:

python -m tests.benchmarks.scale DATABASE --workers 100 --pages 10000 --rate 22 --seconds 15

DATABASE: a new file. --rate: pages a second of each worker; 0: as fast as they are stored.
--words: of a page; fewer than 400 have no boxes.
"""

import argparse

from tests.benchmarks.scale.made_pages import Corpus, Pages
from tests.benchmarks.scale.simulated_run import SETTINGS, simulate
from tests.benchmarks.scale.stand_ins import Pace


def main() -> None:
    """Runs it, and prints memory and CPU seconds now and then, and the rate."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("database")
    parser.add_argument("--workers", type=int, default=10)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=22.0)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--words", type=int, default=400)
    chosen = parser.parse_args()
    pace = Pace(pages_per_s=chosen.rate or None)
    found = simulate(
        chosen.database,
        Corpus(num_pages=chosen.pages),
        chosen.workers,
        pace,
        pages=Pages(SETTINGS, chosen.words, has_words=chosen.words >= 400),
        limit_s=chosen.seconds,
        every_s=max(1.0, (chosen.seconds or 60.0) / 20),
    )
    for sample in found.samples:
        print(
            f"{sample.seconds:7.1f} s  {sample.num_pages:>9} pages  "
            f"{sample.rss_bytes / 1e6:6.0f} MB  {sample.cpu_s:7.1f} CPU s"
        )
    last = found.samples[-1]
    cpu_ms = 1e3 * (last.cpu_s - last.own_s) / max(1, last.num_pages)
    print(
        f"{found.summary.num_pages / found.summary.wall_s:.0f} pages/s, "
        f"{cpu_ms:.2f} ms of CPU a page without the stand-ins"
    )


if __name__ == "__main__":
    main()

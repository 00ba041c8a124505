"""Measures the host memory of the main process and its workers over a long run:

python -m tests.benchmarks.runs.memory DOCS --pages 2000 --output-json memory.json
python -m tests.benchmarks.runs.memory DOCS --pages 2000 --device cuda --model random --output-tokens 64

DOCS: PDFs and images, copied until there are enough pages. A run reads them as `ocrbatch run` does, with
the small model and one view a page unless told otherwise, so that many pages take little time: a page leaves the
same behind. Resident memory is read from /proc every 50 pages. The last lines show it at page
100, at the last page, and their ratio. With --most 1.1 the exit code tells whether main process and workers
together stayed within 10%.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.bench.bench_figures import RANDOM_OUTPUT_TOKENS
from pipeline.bench.host_meter import HostUse, host_use
from pipeline.bench.real_pages import copy_pages
from pipeline.bench.whole_run.subject import Loader, Subject, bench_config
from pipeline.config.sources import nest
from pipeline.reports.progress import Counting
from pipeline.run import runner
from pipeline.stop import Stop, stop_on_signals
from pipeline.types import PageResult

if TYPE_CHECKING:
    from ocr.checkpoints.checkpoint import LoadedModel

MIB = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Memory after a number of pages, and of seconds since the first of them."""

    num_pages: int
    seconds: float
    host: HostUse

    def line(self) -> str:
        return (
            f"page {self.num_pages:>6}  {self.seconds:>8.1f} s  main {self.host.main_bytes / MIB:>8.0f} MiB  "
            f"workers {self.host.worker_bytes / MIB:>8.0f} MiB  CPU {self.host.cpu_s:>8.1f} s"
        )


class Sampler(Counting):
    """A run's progress that samples the memory. first, every: in pages."""

    def __init__(self, first: int, every: int) -> None:
        super().__init__()
        self._first, self._every = first, every
        self._num_done = 0
        self._began_s: float | None = None
        self.samples: list[Sample] = []

    def page_done(self, result: PageResult) -> None:
        self._num_done += 1
        self._began_s = self._began_s or time.monotonic()
        if self._num_done % self._every == 0 or self._num_done == self._first:
            self.sample()

    def sample(self) -> None:
        """Takes a sample, unless this page has one."""
        if self.samples and self.samples[-1].num_pages == self._num_done:
            return
        seconds = time.monotonic() - (self._began_s or time.monotonic())
        self.samples.append(Sample(num_pages=self._num_done, seconds=seconds, host=host_use()))
        print(self.samples[-1].line(), flush=True)

    def reference(self) -> Sample:
        """Returns the sample that the last is compared with."""
        return next((sample for sample in self.samples if sample.num_pages >= self._first), self.samples[-1])


def measure(args: argparse.Namespace, folder: Path) -> Sampler:
    """Runs, and prints a line per sample. Raises SystemExit if nothing was read."""
    (folder / "pages").mkdir()
    num_pages = copy_pages(args.docs, args.pages, folder / "pages")
    subject = Subject(args.model, folder / "model")
    tokens = args.output_tokens or (RANDOM_OUTPUT_TOKENS if subject.is_random else None)
    named = {
        "--device": ("device", args.device),
        "--mode": ("tile.mode", args.mode),
        "--batch-size": ("decode.batch_size", args.batch_size),
        "--workers": ("render.workers", args.workers),
    }
    options = [(name, nest(key, value)) for name, (key, value) in named.items() if value is not None]
    config = bench_config(
        subject,
        [str(folder / "pages")],
        folder / "results.db",
        output_tokens=tokens,
        sets=args.sets,
        options=options,
    )
    sampler, stop = Sampler(min(args.first, num_pages), args.every), Stop()
    with stop_on_signals(stop, args.time_limit):
        summary = runner.run(config, sampler, stop, Loader(subject, output_tokens=tokens, then=_nothing))
    print("\n".join(summary.lines()[:-1]))
    if not sampler.samples:
        raise SystemExit("no page was read")
    return sampler


def _nothing(loaded: "LoadedModel") -> None:
    """Does nothing with the loaded model."""


def report(sampler: Sampler) -> dict[str, float]:
    """Prints how the memory changed; returns last / first of all, of the main process and of the workers."""
    first, last = sampler.reference(), sampler.samples[-1]
    ratios = {}
    for name, field in {"all": "total_bytes", "main": "main_bytes", "workers": "worker_bytes"}.items():
        before, after = getattr(first.host, field), getattr(last.host, field)
        ratios[name] = after / before if before else float("nan")
        print(
            f"{name}: {before / MIB:.0f} MiB at page {first.num_pages}, {after / MIB:.0f} MiB at page "
            f"{last.num_pages}, {ratios[name]:.3f}x"
        )
    return ratios


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.runs.memory",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("docs", nargs="+", help="PDFs, images, or folders of them")
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--first", type=int, default=100, help="the page that the last is compared with")
    parser.add_argument("--every", type=int, default=50, help="pages between two looks")
    parser.add_argument("--model", default="small")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--mode", default="tiny", help="of tiling")
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--output-tokens", type=int, help="of each page; by default what it takes")
    parser.add_argument("--set", dest="sets", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--time-limit", type=float, help="seconds, after which the run ends early")
    parser.add_argument("--most", type=float, help="the largest ratio of all that is no failure")
    parser.add_argument("--output-json", type=Path)
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="ocrbatch-memory-") as folder:
        sampler = measure(args, Path(folder))
    ratios = report(sampler)
    if args.output_json:
        found = {"samples": [asdict(sample) for sample in sampler.samples], "ratios": ratios}
        args.output_json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 1 if args.most is not None and not ratios["all"] <= args.most else 0


if __name__ == "__main__":
    sys.exit(main())

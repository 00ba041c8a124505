"""Builds the evaluation set, and compares ocrbatch with Tesseract 5 on it:

python -m tests.benchmarks.quality build DIR
python -m tests.benchmarks.quality measure DIR

Needs Debian or Ubuntu: apt-get, dpkg-deb and tesseract-ocr with tesseract-ocr-eng.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from ocr.training.corpus.packages import CorpusError
from tests.benchmarks.quality.readings import report
from tests.benchmarks.quality.readings.measure import ENGINES, Options, measure
from tests.benchmarks.quality.scoring.summary import as_dict
from tests.benchmarks.quality.sets import selection
from tests.benchmarks.quality.sets.build import SETS, build
from tests.benchmarks.quality.sets.selection import QualityError


def main() -> int:
    args = _parser().parse_args()
    try:
        _build(args) if args.command == "build" else _measure(args)
    except (QualityError, CorpusError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _build(args: argparse.Namespace) -> None:
    pages = selection.load()
    count = build(pages, args.folder, args.cache or args.folder / "packages")
    print(f"{count} pages in {args.folder}: {len(pages.text)} of {len(pages.documents)} documents, ", end="")
    print(f"{len(pages.empty)} without text; sets {', '.join(SETS)}")


def _measure(args: argparse.Namespace) -> None:
    options = Options(
        sets=_chosen(args.sets, SETS, "--sets"),
        engines=_chosen(args.engines, ENGINES, "--engines"),
        model=args.model,
        limit=args.limit,
        stored=dict(_stored(value) for value in args.reading),
        cache=args.tesseract_cache,
    )
    kept: list[dict[str, Any]] = []
    summaries = []
    for set_name in options.sets:
        results = [measure(args.folder, set_name, engine, options) for engine in options.engines]
        summaries += [result.summary for result in results]
        print(*report.set_lines([result.summary for result in results]), "", sep="\n")
        for result in results:
            if result.num_missing:
                print(f"{result.summary.engine} has not read {result.num_missing} pages: counted as empty\n")
            if result.summary.engine == "ocrbatch":
                print(*report.calibration_lines(set_name, result.calibration), "", sep="\n")
            kept.append({**as_dict(result.summary, result.scores), "ece": result.calibration.error})
    print(*report.cost_lines(summaries), "", *report.NOTES, sep="\n")
    if args.json is not None:
        args.json.write_text(json.dumps({"sets": kept}, indent=1), encoding="utf-8")


def _chosen(value: str, known: tuple[str, ...], option: str) -> tuple[str, ...]:
    chosen = tuple(value.split(","))
    if unknown := set(chosen) - set(known):
        raise QualityError(f"{option}: {', '.join(sorted(unknown))} unknown; there are {', '.join(known)}")
    return chosen


def _stored(value: str) -> tuple[str, Path]:
    set_name, equals, file = value.partition("=")
    if not equals or set_name not in SETS:
        raise QualityError(f"--reading {value}: write SET=FILE with SET one of {', '.join(SETS)}")
    return set_name, Path(file)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.quality", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("build", help="download the packages and render the set into DIR")
    one.add_argument("folder", type=Path, metavar="DIR")
    one.add_argument("--cache", type=Path, help="where packages are kept (default: DIR/packages)")
    two = commands.add_parser("measure", help="read the set with both engines and print the figures")
    two.add_argument("folder", type=Path, metavar="DIR")
    two.add_argument("--sets", default=",".join(SETS), help=f"default: {','.join(SETS)}")
    two.add_argument("--engines", default=",".join(ENGINES), help=f"default: {','.join(ENGINES)}")
    two.add_argument("--model", default="small", help="ocrbatch's model (default: small)")
    two.add_argument("--limit", type=int, help="at most so many pages of a set, spread over it")
    two.add_argument("--json", type=Path, metavar="FILE", help="write all figures and pages there")
    two.add_argument(
        "--reading", action="append", default=[], metavar="SET=DB", help="score this database of ocrbatch"
    )
    two.add_argument(
        "--tesseract-cache", type=Path, metavar="FOLDER", help="keep Tesseract's texts and costs"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())

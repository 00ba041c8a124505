"""Builds the sets of documents, texts and typefaces that nothing was trained on, compares ocrbatch with Tesseract 5 on
them, and tells how much of them was trained on after all:

python -m tests.benchmarks.quality build-unseen DIR --mirrors MIRRORS
python -m tests.benchmarks.quality measure DIR
python -m tests.benchmarks.quality overlap DIR --training LIST_OR_FOLDER

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
from tests.benchmarks.quality.sets.layout import QualityError
from tests.benchmarks.quality.sets.unseen import build as unseen
from tests.benchmarks.quality.sets.unseen import overlap
from tests.benchmarks.quality.sets.unseen.build import UNSEEN_SETS


def main() -> int:
    args = _parser().parse_args()
    try:
        return {"build-unseen": _build_unseen, "overlap": _overlap, "measure": _measure}[args.command](args)
    except (QualityError, CorpusError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _build_unseen(args: argparse.Namespace) -> int:
    sets = _chosen(args.sets, UNSEEN_SETS, "--sets")
    counts = unseen.build(args.folder, args.mirrors, args.cache or args.folder / "packages", sets)
    print(f"{args.folder}: {', '.join(f'{count} {name}' for name, count in counts.items())}")
    return 0


def _overlap(args: argparse.Namespace) -> int:
    """Prints the table; fails if anything of the evaluation was trained on."""
    found = overlap.compare(args.folder, overlap.trained(args.training))
    print(*overlap.lines(found), sep="\n")
    bad = [entry.source for entry in found if entry.bad]
    print(
        f"\n{len(found)} sources, {len(bad)} overlap with the training{': ' if bad else ''}{', '.join(bad)}"
    )
    return 2 if bad else 0


def _measure(args: argparse.Namespace) -> int:
    options = Options(
        sets=_chosen(args.sets, UNSEEN_SETS, "--sets"),
        engines=_chosen(args.engines, ENGINES, "--engines"),
        model=args.model,
        limit=args.limit,
        stored=dict(_stored(value) for value in args.reading),
        cache=args.tesseract_cache,
    )
    kept: list[dict[str, Any]] = []
    summaries, ours, table = [], [], []
    for set_name in options.sets:
        results = [measure(args.folder, set_name, engine, options) for engine in options.engines]
        summaries += [result.summary for result in results]
        table += [*report.set_lines([result.summary for result in results]), ""]
        for result in results:
            if result.num_missing:
                print(f"{result.summary.engine} has not read {result.num_missing} pages: counted as empty")
            if result.summary.engine == "ocrbatch":
                table += [*report.calibration_lines(set_name, result.scores), ""]
                ours += result.scores
            kept.append(
                {**as_dict(result.summary, result.scores), "ece": report.calibration_error(result.scores)}
            )
    if len(options.sets) > 1 and ours:
        table += [*report.calibration_lines("all sets", ours), ""]
    table += [*report.cost_lines(summaries), "", *report.NOTES]
    print(*table, sep="\n")
    if args.markdown is not None:
        args.markdown.write_text("\n".join(table) + "\n", encoding="utf-8")
    if args.json is not None:
        args.json.write_text(json.dumps({"sets": kept}, indent=1), encoding="utf-8")
    return 0


def _chosen(value: str, known: tuple[str, ...], option: str) -> tuple[str, ...]:
    chosen = tuple(value.split(","))
    if unknown := set(chosen) - set(known):
        raise QualityError(f"{option}: {', '.join(sorted(unknown))} unknown; there are {', '.join(known)}")
    return chosen


def _stored(value: str) -> tuple[str, Path]:
    set_name, equals, file = value.partition("=")
    if not equals or set_name not in UNSEEN_SETS:
        raise QualityError(f"--reading {value}: write SET=FILE with SET one of {', '.join(UNSEEN_SETS)}")
    return set_name, Path(file)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.quality", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    unseen_set = commands.add_parser("build-unseen", help="build the sets that nothing was trained on")
    unseen_set.add_argument("folder", type=Path, metavar="DIR")
    unseen_set.add_argument("--mirrors", type=Path, required=True, help="git copies: MIRRORS/owner+name/repo")
    unseen_set.add_argument("--cache", type=Path, help="where packages are kept (default: DIR/packages)")
    unseen_set.add_argument("--sets", default=",".join(UNSEEN_SETS), help=f"default: {','.join(UNSEEN_SETS)}")
    three = commands.add_parser("overlap", help="print what of the unseen sets was trained on")
    three.add_argument("folder", type=Path, metavar="DIR")
    three.add_argument(
        "--training",
        type=Path,
        action="append",
        default=[],
        help="training_data.json or a corpus folder; repeatable",
    )
    two = commands.add_parser("measure", help="read the set with both engines and print the figures")
    two.add_argument("folder", type=Path, metavar="DIR")
    two.add_argument("--sets", default=",".join(UNSEEN_SETS), help=f"default: {','.join(UNSEEN_SETS)}")
    two.add_argument("--engines", default=",".join(ENGINES), help=f"default: {','.join(ENGINES)}")
    two.add_argument("--model", default="small", help="ocrbatch's model (default: small)")
    two.add_argument("--limit", type=int, help="at most so many pages of a set, spread over it")
    two.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables there")
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

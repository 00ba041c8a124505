"""Checks whether the crops of composed pages keep their reading order: columns, and lines across them.

python -m tests.benchmarks.layout.reading_order [--pages 200] [--dpi 150] [--fine]

No model reads: a line's place is that of the crop that holds it. Lines of one crop, and of pages that are read whole,
count as in order.
"""

import argparse
import sys
from collections.abc import Sequence
from statistics import fmean

from tests.articles.compose import KINDS
from tests.articles.measure import Cut, cut


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.layout.reading_order", description=__doc__
    )
    parser.add_argument(
        "--pages", type=int, default=200, help="composed pages, of all kinds in turn (default: 200)"
    )
    parser.add_argument("--dpi", type=int, default=150, help="their resolution (default: 150)")
    parser.add_argument("--fine", action="store_true", help="cut as for a second reading, into small crops")
    args = parser.parse_args(arguments)
    cuts = [cut(number, args.dpi, fine=args.fine) for number in range(args.pages)]
    print(*lines(cuts), sep="\n")
    return 0


def lines(cuts: Sequence[Cut]) -> list[str]:
    """Returns a table of the kinds of pages, and of all."""
    found = [_line("kind", ("pages", "cut", "crops", "tau", "out of order", "lines torn", "lines lost"))]
    for kind in KINDS:
        of_kind = [page for page in cuts if page.kind == kind]
        if of_kind:
            found.append(_row(kind, of_kind))
    return [*found, _row("all", cuts)]


def _row(name: str, cuts: Sequence[Cut]) -> str:
    orders = [page.order for page in cuts]
    return _line(
        name,
        (
            str(len(cuts)),
            str(sum(order.num_crops > 0 for order in orders)),
            str(sum(order.num_crops for order in orders)),
            f"{fmean(order.tau for order in orders):.4f}",
            str(sum(order.num_inverted > 0 for order in orders)),
            str(sum(order.num_torn for order in orders)),
            str(sum(order.num_lost for order in orders)),
        ),
    )


def _line(name: str, cells: Sequence[str]) -> str:
    return f"{name:38}" + "".join(f"{cell:>13}" for cell in cells)


if __name__ == "__main__":
    sys.exit(main())

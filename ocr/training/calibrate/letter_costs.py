"""Counts how European languages put letters together, for the lines that look like none of them:

python -m ocr.training.calibrate.letter_costs PACKAGES ocr/line_reader/letter_costs.txt

PACKAGES keeps Debian's packages of word lists, fetched with apt-get; every list weighs the same.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ocr.line_reader.language import LETTERS, MOST, STEPS_A_BIT, sequences
from ocr.training.corpus.extract import spelled_words
from ocr.training.corpus.packages import download

_LISTS = (
    "wamerican", "wdanish", "wdutch", "wfrench", "witalian", "wngerman", "wnorwegian", "wpolish", "wportuguese",
    "wspanish", "wswedish", "hunspell-cs", "hunspell-hr", "hunspell-hu", "hunspell-lt", "hunspell-lv", "hunspell-ro",
    "hunspell-sk",
)  # fmt: skip
_UNSEEN = 1e-7  # of all sequences
_MOST_WORDS = 100_000  # of a list, at even distances


def counted(words: list[str]) -> npt.NDArray[np.float64]:
    """Returns the share of each sequence of three letters in the words, [27, 27, 27]."""
    counts = np.zeros((len(LETTERS),) * 3)
    for word in words[:: len(words) // _MOST_WORDS + 1]:
        for sequence in sequences(word):
            counts[sequence] += 1
    shares: npt.NDArray[np.float64] = counts / counts.sum()
    return shares


def costs(shares: npt.NDArray[np.float64]) -> npt.NDArray[np.uint8]:
    """Returns what each letter costs after the two before it, in steps of a part of a bit. shares: [27, 27, 27]."""
    likely = (shares + _UNSEEN) / (shares.sum(-1, keepdims=True) + _UNSEEN * len(LETTERS))
    steps: npt.NDArray[np.float64] = np.round(-np.log2(likely) * STEPS_A_BIT)
    return steps.clip(0, MOST).astype(np.uint8)


def _words(root: Path) -> Iterator[str]:
    for path in sorted(root.glob("usr/share/dict/*")):
        if path.is_file() and not path.is_symlink():
            yield from path.read_text(encoding="utf-8", errors="replace").split()
    for path in sorted(root.rglob("*.dic")):
        yield from spelled_words(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m ocr.training.calibrate.letter_costs", description=__doc__
    )
    parser.add_argument("packages", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    found = download(_LISTS, args.packages)
    table = costs(np.mean([counted(list(_words(package.root))) for package in found.values()], axis=0))
    rows = ("".join(map(str, row)) for row in table.reshape(-1, len(LETTERS)).tolist())
    args.out.write_text("\n".join(rows) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()

"""Measures how much of a page's text, and of its blocks, is right."""

import unicodedata
from collections.abc import Sequence

import numpy as np
from rapidfuzz.distance import Levenshtein

_LONG = 20


def normalise(text: str) -> str:
    """Returns text in NFC with every run of white space as one space, as `ocrbatch eval` compares."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def page_accuracy(text: str, truth: str) -> float:
    """Returns 1 - character error rate, at least 0. With an empty truth only an empty text is right."""
    text, truth = normalise(text), normalise(truth)
    return max(0.0, 1 - Levenshtein.distance(text, truth) / max(1, len(truth)))


def block_accuracies(texts: Sequence[str], truth: str) -> list[float]:
    """Returns 1 - edits per character between each block of a page and the nearest part of the truth, at least 0.

    A short block is matched only where the page as a whole aligns with the truth: a letter is not right just because
    the truth has it somewhere. A block of 20 characters or more may match anywhere: its order is judged with the page.
    Text left out between blocks counts against no block.
    """
    blocks, truth = [normalise(text) for text in texts], normalise(truth)
    places = _places(blocks, truth)
    out = []
    for text, (start, end) in zip(blocks, places, strict=True):
        part = truth if len(text) >= _LONG else truth[start:end]
        out.append(max(0.0, 1 - _nearest_part(text, part) / max(1, len(text))))
    return out


def _places(blocks: Sequence[str], truth: str) -> list[tuple[int, int]]:
    """Returns the part (start, end) of the truth that each block aligns with, by the fewest edits for all together."""
    page = " ".join(blocks)
    at = [0] * (len(page) + 1)  # the place in the truth where each character of the page ends
    for op in Levenshtein.opcodes(page, truth):
        for offset in range(op.src_end - op.src_start):
            at[op.src_start + offset + 1] = op.dest_start + (0 if op.tag == "delete" else offset + 1)
    places = []
    first = 0
    for text in blocks:
        last = first + len(text)
        places.append((max(0, at[first + 1] - 1) if text else 0, at[last]))
        first = last + 1
    return places


def _nearest_part(text: str, truth: str) -> int:
    """Returns the fewest edits between a text and any part of the truth.

    Source: P. H. Sellers, The theory and computation of evolutionary distances (1980).
    """
    marks = np.fromiter(map(ord, truth), np.int64, len(truth))
    column = np.arange(len(truth) + 1)
    row = np.zeros(len(truth) + 1, np.int64)  # a part may start anywhere
    for mark in text:
        best = np.concatenate(([row[0] + 1], np.minimum(row[1:] + 1, row[:-1] + (marks != ord(mark)))))
        # Skipping characters of the truth costs one each: a running minimum after subtracting the position.
        row = np.minimum.accumulate(best - column) + column
    return int(row.min())

"""Finds where a text goes on after a deviation from it: a character misread, left out, or one too many."""

_MOST = 10  # marks that are compared
_AHEAD = 4
_OFTEN = 0.6  # the cost of a doubled letter read as one, or one as two, where any other edit costs 1
_MASK, _CONTINUES = 0xC0, 0x80  # the continuation bytes of UTF-8


def realigned(marks: bytes, mark: int, written: bytes) -> tuple[int, bool]:
    """Returns the likeliest number of marks before the point in a text that was reached, and whether it is certain.

    marks: the text's. written: the marks that the model wrote from the point `mark` on, which may differ from the text.
    It is certain where the last mark written agrees with the text, and most others do.
    """
    same = 0
    while same < len(written) and marks[mark + same : mark + same + 1] == written[same : same + 1]:
        same += 1
    start = mark + same
    rest = written[same:]
    if len(rest) > _MOST or written.isascii() != marks[start : start + len(rest) + 1].isascii():
        return _character_by_character(marks, start, rest), False
    ahead = marks[start : start + len(rest) + _AHEAD]
    previous = marks[start - 1 : start]
    costs = [0.0]
    for j in range(len(ahead)):
        costs.append(costs[-1] + _edit(ahead, j, previous))
    for i in range(len(rest)):
        extra = _edit(rest, i, previous)
        row = [costs[0] + extra]
        for j in range(len(ahead)):
            changed = costs[j] + (rest[i] != ahead[j])
            row.append(min(changed, costs[j + 1] + extra, row[j] + _edit(ahead, j, previous)))
        costs = row
    # Among equals the one without shift: a misread character is commoner than one too many.
    best = min(range(len(costs)), key=lambda j: (costs[j], abs(j - len(rest))))
    certain = best > 0 and ahead[best - 1] == rest[-1] and costs[best] <= len(rest) / 2
    return start + best, certain


def _edit(text: bytes, at: int, previous: bytes) -> float:
    """Returns the cost of leaving a mark out."""
    before = text[at - 1 : at] if at else previous
    return _OFTEN if text[at : at + 1] == before else 1.0


def _character_by_character(marks: bytes, place: int, written: bytes) -> int:
    """Returns the place reached if each character written stands for one of the text."""
    for byte in written:
        if byte & _MASK != _CONTINUES:
            place += 1
            while place < len(marks) and marks[place] & _MASK == _CONTINUES:
                place += 1
    return min(place, len(marks))

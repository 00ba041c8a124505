"""A page of lines with their truth, and lines put on it as wide as their letters."""

from dataclasses import dataclass

from ocr.training.structure.true_lines import Place, TrueLine

MOST = 450  # lines of a page


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePage:
    """A page's lines in reading order. genre: its name, or one of this module: see _SHARES."""

    genre: str
    width_pt: float
    height_pt: float
    lines: tuple[TrueLine, ...]


def put_line(
    lines: list[TrueLine], text: str, ends: tuple[float, float, float], size_pt: float, place: Place
) -> float:
    """Adds a line as far as it has room and returns where it ends. ends: its left, the right at most, its baseline."""
    x, room, base = ends
    words, kept = list[tuple[float, float]](), list[str]()
    at = x
    for word in text.split():
        end = at + width_of(word) * size_pt
        if words and end > room:
            break
        words.append((at, end))
        kept.append(word)
        at = end + 0.27 * size_pt
    if not words:
        return x
    own = {"x0": x, "x1": words[-1][1], "base": base, "size": size_pt, "order": len(lines)}
    lines.append(TrueLine(text=" ".join(kept), words=tuple(words), place=place, **own))  # type: ignore[arg-type]
    return words[-1][1]


def width_of(text: str) -> float:
    """Returns about how wide a text is, in type sizes."""
    return sum(0.3 if c in "iljt.,:;'!|" else 0.27 if c == " " else 0.55 for c in text)

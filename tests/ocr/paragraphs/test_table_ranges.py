from hypothesis import given
from hypothesis import strategies as st

from ocr.imaging.measures import WORD_GAP
from ocr.paragraphs.table_ranges import _free, _shared
from ocr.paragraphs.text_lines import Line, Span

EDGES = st.lists(st.integers(0, 60), min_size=2, max_size=12, unique=True).map(sorted)


def spans(edges: list[int]) -> list[Span]:
    return [(float(a), float(b)) for a, b in zip(edges[::2], edges[1::2], strict=False)]


@given(strips=EDGES.map(spans), cells=EDGES.map(spans))
def test_lines_share_what_is_white_in_all_of_them_and_wide_enough(
    strips: list[Span], cells: list[Span]
) -> None:
    line = Line(text="x", spans=tuple(cells), base=10.0, size=8.0)
    ends = [float("-inf"), *(x for cell in cells for x in cell), float("inf")]
    free = list(zip(ends[::2], ends[1::2], strict=True))
    both = [(max(a[0], b[0]), min(a[1], b[1])) for a in strips for b in free]
    assert _shared(strips, line) == [(low, high) for low, high in both if high - low >= WORD_GAP * 8]
    assert _free(line) == [(low, high) for low, high in free if high - low >= WORD_GAP * 8]

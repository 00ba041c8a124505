from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from ocr.transcript.kept_text import KeptText


@given(st.lists(st.tuples(st.text("ab", max_size=4), st.booleans()), max_size=10), st.data())
def test_spans_in_the_text_are_those_of_the_same_characters_in_the_output(
    parts: list[tuple[str, bool]], data: st.DataObject
) -> None:
    raw = "".join(part for part, _ in parts)
    ends = list(accumulate(len(part) for part, _ in parts))
    cuts = [(end - len(part), end) for end, (part, is_kept) in zip(ends, parts, strict=True) if not is_kept]
    kept = KeptText.without(raw, cuts)
    left = [place for place in range(len(raw)) if not any(start <= place < end for start, end in cuts)]
    assert kept.text == "".join(raw[place] for place in left)
    if left:
        first = data.draw(st.integers(0, len(left) - 1))
        last = data.draw(st.integers(first, len(left) - 1))
        assert kept.in_raw((first, last + 1)) == (left[first], left[last] + 1)
        assert kept.in_raw((first, first)) == (left[first], left[first])

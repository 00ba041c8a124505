"""What is packed comes back, for any boxes; what does not belong to the text is refused."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.words import pack, unpack
from tests.storage.sample_records import WordRecord

EDGE = st.integers(0, 100_000)
BOXES = st.tuples(EDGE, EDGE, EDGE, EDGE).map(
    lambda box: (min(box[0], box[2]), min(box[1], box[3]), max(box[0], box[2]), max(box[1], box[3]))
)
WORDS = st.lists(
    st.builds(
        WordRecord,
        text=st.text("abc", min_size=1, max_size=3),
        box_px=st.none() | BOXES,
        confidence=st.none() | st.integers(0, 100).map(lambda percent: percent / 100),
    )
)


@given(WORDS)
def test_words_come_back(words: list[WordRecord]) -> None:
    assert unpack(pack(words), " \n".join(word.text for word in words)) == [
        {"text": word.text, "box": word.box_px, "confidence": word.confidence} for word in words
    ]


def test_a_page_takes_little_room() -> None:
    words = [
        WordRecord(
            text="word",
            box_px=(90 * (k % 12), 30 * (k // 12), 90 * (k % 12) + 60 + k % 7, 30 * (k // 12) + 22),
        )
        for k in range(500)
    ]
    assert len(pack(words)) < 2_000


@pytest.mark.parametrize(
    ("packed", "message"),
    [
        (pack([WordRecord(text="one")]), "1 boxes for 2 words"),
        (b"\x02" + pack([])[1:], "another version"),
        (b"", "another version"),
        (b"\x01\x00", "damaged"),
        (b"\x01" + zlib.compress(b"\x00" * 44), "2 boxes for 2 words|multiple"),
    ],
)
def test_what_is_not_of_the_text_is_refused(packed: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        unpack(packed, "two words")

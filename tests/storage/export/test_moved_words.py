"""A corrected text's words stand where those that were read stood."""

import pytest

from storage.export.moved_words import moved
from storage.types import BoxPx, WordRecord

READ = "the qu1ck brown fox"
BOXES: dict[str, BoxPx] = {
    "the": (0, 0, 30, 10), "qu1ck": (40, 0, 90, 10), "brown": (100, 0, 150, 10), "fox": (160, 0, 190, 10),
}  # fmt: skip


def read() -> list[WordRecord]:
    return [WordRecord(text=name, box_px=BOXES[name], confidence=0.5) for name in READ.split()]


@pytest.mark.parametrize(
    ("text", "boxes"),
    [
        (READ, list(BOXES.values())),
        ("the quick brown fox", list(BOXES.values())),
        ("the quickbrown fox", [BOXES["the"], (40, 0, 150, 10), BOXES["fox"]]),
        (
            "the qu 1ck brown fox",
            [BOXES["the"], (40, 0, 57, 10), (65, 0, 90, 10), BOXES["brown"], BOXES["fox"]],
        ),
        ("the qu1ck fox", [BOXES["the"], BOXES["qu1ck"], BOXES["fox"]]),
        ("the qu1ck brown old fox", [*list(BOXES.values())[:3], None, BOXES["fox"]]),
        ("", []),
    ],
)
def test_boxes_go_with_the_words(text: str, boxes: list[BoxPx | None]) -> None:
    words = moved(read(), text)
    assert [word.text for word in words] == text.split()
    assert [word.box_px for word in words] == boxes


def test_only_what_was_read_so_has_its_confidence() -> None:
    assert [word.confidence for word in moved(read(), "the quick brown fox")] == [0.5, None, 0.5, 0.5]

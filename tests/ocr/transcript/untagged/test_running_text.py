from ocr.transcript import grounding
from ocr.transcript.untagged.running_text import parse


def test_text_is_read_as_deepseeks_without_regions_is() -> None:
    raw = " First line\nsecond | a |\n\n\n\nThird $x$ [1, 2]\n  \n# fourth\n"
    assert parse(raw) == grounding.parse(raw, width_px=10, height_px=10)
    assert [block.raw_span for block in parse(raw).blocks] == [
        block.raw_span for block in grounding.parse(raw, width_px=10, height_px=10).blocks
    ]


def test_tags_of_other_formats_stay() -> None:
    raw = "<|det|>[[1, 2]] <text>a</text>"
    assert parse(raw).text == parse(raw).markdown == raw

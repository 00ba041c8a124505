"""A page's output is interpreted in the format that its model writes."""

import math
from types import SimpleNamespace

import pytest

from ocr.types import OutputFormat, Transcript, Word
from pipeline.stages.localize import ReadPage, place
from pipeline.stages.word_places import with_places
from pipeline.types import PageResult, SeenWords
from tests.ocr.transcript.test_formats import bytes_tokenizer
from tests.pipeline.device.fakes import rendered


def placed(raw: str, output_format: OutputFormat, sure: dict[str, float] | None = None) -> PageResult:
    """The result of a page of 8 x 8 px. sure: the probability of each character of these texts, 1 for others."""
    tokenizer = bytes_tokenizer()
    ids = tokenizer.encode(raw, add_special_tokens=False).ids
    probabilities = [1.0] * len(ids)
    for text, probability in (sure or {}).items():
        first = len(tokenizer.encode(raw[: raw.index(text)], add_special_tokens=False).ids)
        probabilities[first : first + len(text)] = [probability] * len(text)
    transcript = Transcript(
        raw=tokenizer.decode(ids, skip_special_tokens=False),
        token_ids=tuple(ids),
        finish="eos",
        logprobs=tuple(map(math.log, probabilities)),
    )
    wording = SimpleNamespace(tokenizer=tokenizer, output_format=output_format)
    page = ReadPage(rendered=rendered(), transcript=transcript, timings=())
    return place(page, wording)


def test_doctags_become_blocks_with_places_and_confidences() -> None:
    raw = "<doctag><title><loc_0><loc_0><loc_500><loc_250>Bills</title><text>five</text></doctag>"
    output_format = OutputFormat(name="doctags", keeps_special_tokens=True)
    result = placed(raw, output_format, {"Bills": 0.5, "five": 0.25})
    assert result.parsed is not None
    assert (result.parsed.text, result.parsed.markdown) == ("Bills\n\nfive", "# Bills\n\nfive")
    assert [block.box_px for block in result.parsed.blocks] == [(0, 0, 8, 4), None]
    assert [block.confidence for block in result.parsed.blocks] == pytest.approx([0.5, 0.25])


def test_confidences_are_those_of_the_text_behind_what_is_left_out() -> None:
    raw = "<|im_start|>---\na: b\n---\none<pad> two\n\nthree<|im_end|>"
    output_format = OutputFormat(name="markdown", front_matter=True)
    result = placed(raw, output_format, {"three": 0.5})
    assert result.parsed is not None
    assert result.parsed.text == "one two\n\nthree"
    assert [block.confidence for block in result.parsed.blocks] == pytest.approx([1.0, 0.5])


def test_a_page_of_nothing_but_special_tokens_is_doubtful() -> None:
    result = placed("<|im_start|><pad><|im_end|>", OutputFormat(name="markdown"))
    assert result.status == "doubtful"
    assert result.parsed is not None
    assert result.parsed.text == ""


def test_a_page_of_pictures_alone_is_blank() -> None:
    raw = "<|ref|>image<|/ref|><|det|>[[0, 0, 999, 999]]<|/det|>"
    result = placed(raw, OutputFormat(name="ref_det", keeps_special_tokens=True))
    assert (result.status, result.doubt) == ("blank", None)


def test_words_get_the_places_of_those_that_were_seen_and_the_time_of_both_steps_counts() -> None:
    read = placed("one two\n\nthree", OutputFormat(name="markdown"))
    boxes = {"one": (0, 0, 2, 1), "two": (3, 0, 5, 1), "three": (0, 4, 5, 6)}
    seen = SeenWords(words=tuple(Word(text=text, box_px=box) for text, box in boxes.items()), seconds=0.5)
    result = with_places(read, seen)
    assert result.parsed is not None
    assert {word.text: word.box_px for word in result.parsed.words} == boxes
    assert [timing.stage for timing in result.timings] == ["words", "place"]
    assert result.timings[0].share_s == 0.5
    assert result.timings[1].share_s > read.timings[0].share_s

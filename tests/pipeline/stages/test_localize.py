"""A page's output is interpreted in the format that its model writes."""

import math
import pickle

import pytest

from ocr.types import OutputFormat, Transcript
from pipeline.outcome.doubt import NONE_READ
from pipeline.stages.localize import ReadPage, Wording, place
from pipeline.types import PageResult, SeenWords
from tests.ocr.transcript.test_formats import bytes_tokenizer
from tests.pipeline.device.fakes import rendered


def placed(
    raw: str, output_format: OutputFormat, sure: dict[str, float] | None = None, seen: SeenWords | None = None
) -> PageResult:
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
    wording = Wording(tokenizer=tokenizer, output_format=output_format, calibration=None)
    page = ReadPage(rendered=rendered(), transcript=transcript, timings=(), seen=seen)
    assert pickle.loads(pickle.dumps(wording)).output_format == output_format
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


@pytest.mark.parametrize(("shows_print", "status"), [(True, "doubtful"), (False, "blank")])
def test_a_page_of_pictures_alone_is_doubtful_where_print_was_seen(shows_print: bool, status: str) -> None:
    raw = "<|ref|>image<|/ref|><|det|>[[0, 0, 999, 999]]<|/det|>"
    seen = SeenWords(shows_print=shows_print)
    result = placed(raw, OutputFormat(name="ref_det", keeps_special_tokens=True), seen=seen)
    assert (result.status, result.doubt) == (status, NONE_READ if shows_print else None)

"""An answer about several pages is shared out to them, or is taken for none."""

from dataclasses import replace

import pytest

from ocr.transcript.page_breaks import asked_together, told_apart
from ocr.types import Transcript
from tests.ocr.families.published.tiny_published import tokenizer

# A token a byte, but for the break where it is one token, as of Unlimited-OCR.
PLAIN = tokenizer(["<|im_end|>", "<|endoftext|>"]).backend_tokenizer
WITH_BREAK = tokenizer(["<|im_end|>", "<|endoftext|>", "<PAGE>"]).backend_tokenizer


def answer(raw: str, words: object = PLAIN) -> Transcript:
    """A transcript whose tokens' log probabilities count down from -1."""
    ids = tuple(words.encode(raw, add_special_tokens=False).ids)  # type: ignore[attr-defined]
    return Transcript(
        raw=raw, token_ids=ids, finish="eos", logprobs=tuple(-1.0 - place for place in range(len(ids)))
    )


@pytest.mark.parametrize("words", [PLAIN, WITH_BREAK])
@pytest.mark.parametrize(
    "raw",
    [
        "<PAGE>\nFirst, wörds.\n<PAGE>\nSecond",
        "First, wörds.<PAGE>Second",
        "\n<PAGE>First, wörds. <PAGE> Second\n",
        "```markdown\n<PAGE>\nFirst, wörds.\n<PAGE>\nSecond\n```",
    ],
)
def test_each_page_gets_its_text_and_the_tokens_of_it(raw: str, words: object) -> None:
    whole = answer(raw, words)
    parts = told_apart(whole, 2, words)  # type: ignore[arg-type]
    assert parts is not None
    assert [part.raw for part in parts] == ["First, wörds.", "Second"]
    for part in parts:
        assert words.decode(part.token_ids, skip_special_tokens=False) == part.raw  # type: ignore[attr-defined]
        first = -1 - int(part.logprobs[0])
        assert whole.token_ids[first : first + len(part.token_ids)] == part.token_ids
        assert part.logprobs == whole.logprobs[first : first + len(part.token_ids)]


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "one text",
        "a<PAGE>b<PAGE>c",
        "<PAGE>a<PAGE>",
        "<PAGE>\n<PAGE>b",
        "<PAGE><PAGE>a<PAGE>b",
        "Here:<PAGE>a<PAGE>b",
    ],
)
def test_an_answer_of_another_number_of_texts_is_nobodys(raw: str) -> None:
    assert told_apart(answer(raw), 2, PLAIN) is None


@pytest.mark.parametrize("finish", ["length", "loop"])
def test_an_answer_that_was_cut_short_is_nobodys(finish: str) -> None:
    cut = replace(answer("a<PAGE>b"), finish=finish)
    assert told_apart(cut, 2, PLAIN) is None


def test_models_without_a_prompt_for_pages_are_told_how_to_part_them() -> None:
    asked = asked_together("<image>Read.", 3)
    assert asked.startswith("<image>Read.\n\nThe pictures are 3 pages")
    assert "<PAGE>" in asked
    assert asked.count("<image>") == 1

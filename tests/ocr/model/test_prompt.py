import pytest

from ocr.model.prompt import PromptError, encode_prompt
from tests.ocr.tiny_reader import BOS, READ, tokenizer


def test_prompt_is_bos_text_and_nothing_added() -> None:
    ids = encode_prompt(tokenizer(), "w7 <image>\nRead w9  \n", bos_id=BOS)
    assert ids.before == (BOS, 7)
    assert ids.after == (READ, 9)
    assert len(ids) == 4


@pytest.mark.parametrize("prompt", ["Read", "", "<image><image> Read"])
def test_prompt_needs_the_image_exactly_once(prompt: str) -> None:
    with pytest.raises(PromptError, match="exactly once"):
        encode_prompt(tokenizer(), prompt, bos_id=BOS)

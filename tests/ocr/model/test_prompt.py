import pytest
import torch

from ocr.model.prompt import PromptError, encode_prompt, splice
from tests.ocr.tiny_reader import BOS, READ, VOCAB, tokenizer


def test_prompt_is_bos_text_and_nothing_added() -> None:
    ids = encode_prompt(tokenizer(), "w7 <image>\nRead w9  \n", bos_id=BOS)
    assert ids.before == (BOS, 7)
    assert ids.after == (READ, 9)
    assert len(ids) == 4


@pytest.mark.parametrize("prompt", ["Read", "", "<image><image> Read"])
def test_prompt_needs_the_image_exactly_once(prompt: str) -> None:
    with pytest.raises(PromptError, match="exactly once"):
        encode_prompt(tokenizer(), prompt, bos_id=BOS)


def test_splice_puts_vision_tokens_where_the_tag_stands() -> None:
    embed = torch.nn.Embedding(VOCAB, 8)
    ids = encode_prompt(tokenizer(), "w7 <image> Read", bos_id=BOS)
    pages = [torch.randn(5, 8, dtype=torch.float64), torch.randn(2, 8, dtype=torch.float64)]
    first, second = splice(embed, ids, pages)
    assert first.dtype == torch.float32
    assert torch.equal(first[:2], embed.weight[[BOS, 7]])
    assert torch.equal(first[2:7], pages[0].float())
    assert torch.equal(first[7:], embed.weight[[READ]])
    assert second.shape == (5, 8)

"""The prompts of `ocrbatch bench decode`: pages that show something, and random ones."""

from pathlib import Path

import pymupdf
import pytest
import torch

from ocr.checkpoints import checkpoint
from ocr.checkpoints.checkpoint import LoadedModel
from pipeline.bench.generation.decode_arms import page_prompts, random_prompts
from tests.ocr.saving import save
from tests.ocr.tiny import tiny_model, tiny_tokenizer


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedModel:
    save(tiny_model(), tmp_path / "tiny", tokenizer=tiny_tokenizer())
    return checkpoint.load(str(tmp_path / "tiny"), device="cpu", dtype=torch.float32)


@pytest.mark.slow
def test_pages_that_show_something_stand_in_the_prompt(tmp_path: Path, loaded: LoadedModel) -> None:
    (tmp_path / "pages").mkdir()
    document = pymupdf.open()
    for text in ("one word", "", "three"):
        document.new_page(width=300, height=200).insert_text((30, 72), text, fontsize=20)
    document.save(tmp_path / "pages" / "a.pdf")
    document[0].get_pixmap().save(tmp_path / "pages" / "b.png")
    (tmp_path / "pages" / "c.pdf").write_bytes(b"%PDF-1.7 broken")
    found = page_prompts(loaded, str(tmp_path / "pages"), 10)
    assert len(found) == 3, "the empty page shows nothing"
    for page in found:
        (start,) = [
            place
            for place in range(len(page.embeds_LD) - len(page.vision.tokens_TD) + 1)
            if torch.equal(page.embeds_LD[place : place + len(page.vision.tokens_TD)], page.vision.tokens_TD)
        ]
        assert start == 1, "behind the beginning of the text"
    assert len(page_prompts(loaded, str(tmp_path / "pages"), 2)) == 2


def test_random_prompts_are_as_long_as_asked_and_the_same_again(loaded: LoadedModel) -> None:
    first, second = random_prompts(loaded, 2, 40)
    assert len(first.embeds_LD) == len(second.embeds_LD) == 40
    assert not torch.equal(first.embeds_LD, second.embeds_LD)
    assert torch.equal(random_prompts(loaded, 2, 40)[1].embeds_LD, second.embeds_LD)

"""transformers' classes get the weights of a checkpoint of ours, all of them."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ocr.checkpoints.checkpoint import save
from pipeline.bench.reference import reference_model
from tests.ocr.tiny import TINY, relative_error, tiny_model


@pytest.mark.parametrize("tied", [False, True])
def test_logits_equal_ours_whether_the_head_is_tied_or_not(tmp_path: Path, tied: bool) -> None:
    config = replace(TINY, language=replace(TINY.language, tie_word_embeddings=tied))
    model = tiny_model(config)
    save(model, tmp_path)
    reference = reference_model(tmp_path, config)
    embeds_BTD = torch.randn(2, 7, 64, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        found = reference(inputs_embeds=embeds_BTD).logits
        assert relative_error(found, model(embeds_BTD)) < 1e-5
    assert (reference.lm_head.weight is reference.get_input_embeddings().weight) == tied

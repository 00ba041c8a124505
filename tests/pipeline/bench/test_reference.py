"""transformers' classes get the weights of a checkpoint of ours, all of them."""

from pathlib import Path

import torch

from pipeline.bench.reference import reference_model
from tests.ocr.saving import save
from tests.ocr.tiny import TINY, relative_error, tiny_model


def test_logits_equal_ours(tmp_path: Path) -> None:
    model = tiny_model()
    save(model, tmp_path)
    reference = reference_model(tmp_path, TINY)
    embeds_BTD = torch.randn(2, 7, 64, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        found = reference(inputs_embeds=embeds_BTD).logits
        assert relative_error(found, model(embeds_BTD)) < 1e-5

"""Our encoder over the weights that transformers holds: the same sizes and tokens, and no weight held twice."""

import torch
from transformers.models.unlimited_ocr.modeling_unlimited_ocr import UnlimitedOcrModel

from encoders.deepseek.from_transformers import encoder_config, encoder_of
from tests.ocr.tiny import TINY, reference_config


def test_weights_are_shared_both_ways() -> None:
    config = reference_config(TINY)
    assert encoder_config(config) == TINY.encoder
    theirs = UnlimitedOcrModel(config).eval()
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.normal_(std=0.05)
    views = torch.randint(0, 256, (1, 3, 256, 256), dtype=torch.uint8)
    with torch.inference_mode():
        before = theirs.get_image_features(views / 127.5 - 1).pooler_output[0]
    ours = encoder_of(theirs)
    with torch.inference_mode():
        after = theirs.get_image_features(views / 127.5 - 1).pooler_output[0]
        mine = ours.assemble(ours.encode_views(views)[0], torch.empty(0, 1, 64), (1, 1)).tokens_TD
    assert torch.equal(before, after)
    torch.testing.assert_close(mine, before, atol=1e-5, rtol=1e-5)
    storages = {weight.untyped_storage().data_ptr() for weight in ours.parameters()}
    tower = {
        weight.untyped_storage().data_ptr()
        for name, weight in theirs.named_parameters()
        if "language_model" not in name
    }
    # CLIP's own patch embedding, which SAM's features replace, is not used by either.
    assert storages == tower

"""Our encoder over the weights that transformers holds: the same sizes and tokens, and no weight held twice."""

import pytest
import torch
from transformers.models.unlimited_ocr.modeling_unlimited_ocr import UnlimitedOcrModel

from encoders.deepseek.deep_encoder import DeepEncoder
from encoders.deepseek.from_transformers import deep_encoder_weights, encoder_config, encoder_of
from ocr.model.random_weights import redraw
from tests.encoders.deepseek.test_deep_encoder import random_page
from tests.ocr.tiny import TINY, reference_config, relative_error


@pytest.fixture(scope="module")
def theirs() -> UnlimitedOcrModel:
    model = UnlimitedOcrModel(reference_config(TINY)).eval()
    redraw(model, seed=9)
    return model.requires_grad_(False)


@pytest.fixture(scope="module")
def ours(theirs: UnlimitedOcrModel) -> DeepEncoder:
    with torch.device("meta"):
        encoder = DeepEncoder(TINY.encoder)
    encoder.load_state_dict(deep_encoder_weights(theirs.state_dict()), strict=True, assign=True)
    return encoder.eval().requires_grad_(False)


def test_pages_equal_transformers(ours: DeepEncoder, theirs: UnlimitedOcrModel) -> None:
    pages = [random_page(0, grid=(2, 1)), random_page(1)]
    with torch.no_grad():
        found = ours.encode(pages)
        expected = theirs.get_image_features(
            torch.stack([torch.from_numpy(page.global_view) for page in pages]) / 127.5 - 1,
            torch.from_numpy(pages[0].local_views) / 127.5 - 1,
            num_local_patches=[2, 0],
            patches_grid=[[2, 1], [1, 1]],
        ).pooler_output
    for mine, other in zip(found, expected, strict=True):
        assert relative_error(mine.tokens_TD, other) < 1e-5


def test_weights_are_shared_but_for_the_joined_projections(
    ours: DeepEncoder, theirs: UnlimitedOcrModel
) -> None:
    theirs_own = {tensor.data_ptr() for tensor in theirs.state_dict().values()}
    copied = [name for name, tensor in ours.named_parameters() if tensor.data_ptr() not in theirs_own]
    assert len(copied) == 2 * TINY.encoder.clip.num_layers
    assert all(".qkv_proj." in name for name in copied)


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

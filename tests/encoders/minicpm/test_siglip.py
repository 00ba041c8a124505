"""The vision transformer against transformers' Idefics2, which 2.5 is published with."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from transformers.models.idefics2.modeling_idefics2 import Idefics2VisionTransformer

from encoders.minicpm import siglip
from encoders.minicpm.packed_patches import collected
from encoders.minicpm.slice_paths import SlicePath
from tests.encoders.minicpm.tiny_vision import noise, tiny_parts

# No fraction of these falls on a boundary of the table of 7 x 7, where transformers rounds in its own way.
GRIDS = [(3, 5), (1, 1), (4, 4), (2, 8), (1, 13)]


def in_rows(path: SlicePath, grids: Sequence[tuple[int, int]], seeds: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Returns noise as patches in rows, and their positions."""
    units = [path.slice_unit(noise(grid, seed)) for grid, seed in zip(grids, seeds, strict=True)]
    inputs = path.collate(units, torch.device("cpu"))
    positions = inputs["positions"]
    return collected(inputs["runs"], inputs["starts"], inputs["sizes"], positions.shape[1]), positions


@pytest.mark.parametrize("version", ["2.5", "2.6"])
def test_features_equal_idefics2(version: str) -> None:
    """2.5 hands it a slice as one row of patches, all of them side by side."""
    encoder, vit, _, _ = tiny_parts(version)
    (path,) = encoder.paths
    theirs = Idefics2VisionTransformer(vit.config).eval()
    theirs.load_state_dict(vit.state_dict(), strict=True)
    for seed, (rows, columns) in enumerate(GRIDS):
        pixels = noise((rows, columns), seed)
        packed, positions = in_rows(path, [(rows, columns)], [seed])
        count, cap = rows * columns, positions.shape[1]
        ours = vit(packed, positions, (torch.arange(cap) < count)[None])
        image = (pixels.float() / 127.5 - 1)[None]
        if version == "2.5":
            patches = functional.unfold(image, 4, stride=4).view(3, 4, 4, count)
            image = patches.permute(0, 1, 3, 2).reshape(1, 3, 4, 4 * count)
        mask = torch.ones(1, image.shape[2] // 4, image.shape[3] // 4, dtype=torch.bool)
        with torch.no_grad():
            expected = theirs(pixel_values=image, patch_attention_mask=mask).last_hidden_state
        torch.testing.assert_close(ours[:, :count], expected, rtol=0, atol=1e-5)


@torch.no_grad()
def test_sequences_end_to_end_equal_the_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU, where attention within sequences has kernels."""
    encoder, vit, _, _ = tiny_parts("2.6")
    (path,) = encoder.paths
    pixels, positions = in_rows(path, GRIDS[:2] * 2, range(4))
    counts = torch.tensor([rows * columns for rows, columns in GRIDS[:2] * 2])
    valid = torch.arange(pixels.shape[1]) < counts[:, None]
    by_mask = vit(pixels, positions, valid)
    monkeypatch.setattr(siglip, "takes_sequences", lambda tensors: True)
    in_sequences = vit(pixels, positions, valid)
    assert not torch.equal(in_sequences[~valid], by_mask[~valid]), "padding sees itself alone"
    torch.testing.assert_close(in_sequences[valid], by_mask[valid], rtol=1e-4, atol=1e-5)
    assert in_sequences.isfinite().all()

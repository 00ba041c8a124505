from collections.abc import Callable

import pytest
import torch

from ocr.training import augment


@pytest.fixture
def pages() -> torch.Tensor:
    torch.manual_seed(0)
    return (torch.rand(6, 1, 64, 96) > 0.3).float()


@pytest.mark.parametrize(
    "effect", [augment.thickness, augment.blur, augment.uneven_light, augment.bleed_through, augment.noise,
               augment.binarise, augment.jpeg, augment.lower_resolution],
)  # fmt: skip
def test_every_effect_changes_pages_only_when_asked(
    effect: Callable[[torch.Tensor, float], torch.Tensor], pages: torch.Tensor
) -> None:
    torch.manual_seed(1)
    pages = pages * 0.8 + 0.1
    assert effect(pages, 0.0).shape == pages.shape
    torch.testing.assert_close(effect(pages, 0.0), pages, atol=2e-3, rtol=0)
    changed = effect(pages, 1.0)
    assert changed.shape == pages.shape
    assert torch.isfinite(changed).all()
    assert (changed - pages).abs().mean() > 1e-3


def test_jpeg_blocks_restore_flat_pages() -> None:
    flat = torch.full((3, 1, 16, 16), 0.5)
    torch.testing.assert_close(augment.jpeg(flat, 1.0), flat, atol=0.1, rtol=0)


def test_strength_zero_is_the_page_itself(pages: torch.Tensor) -> None:
    grey = (pages * 255).to(torch.uint8)
    assert torch.equal(augment.degrade(grey, 0.0), grey.expand(-1, 3, -1, -1))


def test_degraded_pages_are_rgb_bytes(pages: torch.Tensor) -> None:
    out = augment.degrade((pages * 255).to(torch.uint8), 1.0)
    assert out.dtype == torch.uint8
    assert out.shape == (6, 3, 64, 96)

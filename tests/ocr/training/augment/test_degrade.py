from collections.abc import Callable

import pytest
import torch

from ocr.training.augment import degrade as augment
from ocr.training.augment import paper as augment_paper
from ocr.training.augment import scan as augment_scan

Tensor = torch.Tensor
Effect = Callable[[Tensor, Tensor], Tensor]


def lower_resolution(x: Tensor, amount: Tensor) -> Tensor:
    return augment_scan.lower_resolution(x, 1 - 0.4 * float(amount.max()))


def tone(x: Tensor, amount: Tensor) -> Tensor:
    return augment_scan.tone(x, amount)[0]


def noise(x: Tensor, amount: Tensor) -> Tensor:
    return augment_scan.noise(x, amount, torch.ones_like(amount))


def jpeg(x: Tensor, amount: Tensor) -> Tensor:
    return augment_scan.jpeg(x, amount, torch.ones_like(amount))


def fax(x: Tensor, amount: Tensor) -> Tensor:
    return augment_scan.fax(x, amount, 0.8)


EFFECTS: list[Effect] = [
    augment_paper.thickness, augment_paper.carbon, augment_paper.erosion, augment_paper.fading,
    augment_paper.background,
    augment_paper.ruled, augment_paper.texture, augment_paper.bleed_through, augment_scan.sharpen, lower_resolution,
    augment_scan.blur, augment_scan.motion, augment_scan.uneven_light, augment_scan.edge_shadow, tone, noise,
    augment_scan.salt_and_pepper, augment_scan.dropouts, fax,
    augment_scan.coarse_fax, jpeg, augment_scan.shades,
]  # fmt: skip


@pytest.fixture
def pages() -> Tensor:
    """Four pages with strokes: [4, 1, 128, 96] of 0.1 (ink) and 0.9."""
    torch.manual_seed(0)
    coarse = (torch.rand(4, 1, 16, 24) > 0.3).float()
    return coarse.repeat_interleave(8, 2).repeat_interleave(4, 3) * 0.8 + 0.1


def test_every_effect_of_the_table_is_covered_here() -> None:
    assert {effect.__name__ for effect in EFFECTS} == {effect.__name__ for effect in augment.SHARES}


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda effect: effect.__name__)
def test_amount_decides_how_much_changes(effect: Effect, pages: Tensor) -> None:
    changes = []
    for amount in (0.0, 0.2, 1.0):
        torch.manual_seed(1)
        out = effect(pages, torch.full((4, 1, 1, 1), amount))
        assert out.shape[2:] == pages.shape[2:]
        assert torch.isfinite(out).all()
        changes.append(float((out - pages).abs().mean()))
    assert changes[0] < 2e-3
    assert changes[2] > 2e-3
    assert changes[2] > changes[1] or effect in (fax, augment_scan.coarse_fax)


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda effect: effect.__name__)
def test_each_page_has_its_own_amount(effect: Effect, pages: Tensor) -> None:
    if effect is lower_resolution:
        pytest.skip("treats its pages alike")
    torch.manual_seed(1)
    out = effect(pages, torch.tensor([0.0, 1.0, 0.0, 1.0]).view(4, 1, 1, 1))
    torch.testing.assert_close(out[::2], pages[::2], atol=2e-3, rtol=0)
    assert (out[1::2] - pages[1::2]).abs().amax((1, 2, 3)).min() > 0.02


def test_low_contrast_stays_visible() -> None:
    black_and_white = torch.tensor([0.0, 1.0]).view(1, 1, 1, 2).expand(64, 1, 8, 2)
    out, contrast = augment_scan.tone(black_and_white, torch.ones(64, 1, 1, 1))
    spread = out[..., 1] - out[..., 0]
    assert spread.min() > 0.15
    assert out.min() >= 0
    assert out.max() <= 1
    torch.testing.assert_close(spread.mean((1, 2)), contrast.view(-1))


def test_blur_keeps_the_mean_and_spreads_by_its_sigma() -> None:
    point = torch.zeros(1, 1, 31, 31)
    point[..., 15, 15] = 1
    out = augment_scan.blur(point, torch.ones(1, 1, 1, 1))[0, 0]
    places = torch.arange(31.0) - 15
    assert out.sum() == pytest.approx(1, abs=1e-4)
    assert float((out.sum(0) * places**2).sum().sqrt()) == pytest.approx(1.8, abs=0.05)


def test_fax_pages_are_black_and_white_whatever_the_light(pages: Tensor) -> None:
    torch.manual_seed(2)
    shaded = pages * torch.linspace(0.4, 1, 96)
    out = augment_scan.fax(shaded, torch.full((4, 1, 1, 1), 0.01), 1.0)
    assert set(out.unique().tolist()) == {0.0, 1.0}
    assert ((out > 0.5) == (pages > 0.5)).float().mean() > 0.8


def test_coarse_faxes_are_black_and_white_and_stay_in_place(pages: Tensor) -> None:
    torch.manual_seed(2)
    out = augment_scan.coarse_fax(pages, torch.ones(4, 1, 1, 1))
    assert set(out.unique().tolist()) == {0.0, 1.0}
    assert ((out > 0.5) == (pages > 0.5)).float().mean() > 0.9


def test_carbon_copies_are_paler_with_clean_paper_around(pages: Tensor) -> None:
    torch.manual_seed(2)
    out = augment_paper.carbon(pages, torch.ones(4, 1, 1, 1))
    assert out[pages < 0.5].mean() > 0.3
    assert out[pages > 0.5].mean() > out[pages < 0.5].mean() + 0.2


def test_bleed_through_shows_another_page_mirrored() -> None:
    pages = torch.ones(2, 1, 128, 64)
    pages[0, :, :, :16] = 0
    torch.manual_seed(3)
    out = augment_paper.bleed_through(pages, torch.ones(2, 1, 1, 1))
    assert out[1, 0, :, 50:].max() < 0.7
    torch.testing.assert_close(out[1, 0, :, :44], torch.ones(128, 44))


def test_jpeg_restores_flat_pages() -> None:
    flat = torch.full((3, 1, 16, 16), 0.5)
    torch.testing.assert_close(jpeg(flat, torch.ones(3, 1, 1, 1)), flat, atol=0.02, rtol=0)


def test_shares_of_pages_and_effects() -> None:
    torch.manual_seed(4)
    amounts = augment.allot(20_000, 1.0)
    assert amounts.shape == (len(augment.SHARES), 20_000)
    assert amounts.min() == 0
    assert amounts.max() <= 1
    worn = (amounts.amax(0) > 0).float().mean()
    assert 0.58 < worn < augment.WORN_SHARE
    touched = dict(zip(augment.SHARES, (amounts > 0).float().mean(1).tolist(), strict=True))
    for effect, share in augment.SHARES.items():
        expected = share * augment.WORN_SHARE
        assert 0.8 * expected < touched[effect] < 1.1 * expected, effect.__name__
    strong = (amounts.amax(0) > 0.7).float().mean()
    assert 0.03 < strong < 0.3


def test_strength_orders_how_worn_pages_are() -> None:
    torch.manual_seed(5)
    means = [float(augment.allot(5000, strength).mean()) for strength in (0.0, 0.5, 1.0, 2.0)]
    assert means[0] == 0
    assert means == sorted(means)


def test_strength_zero_is_the_page_itself(pages: Tensor) -> None:
    grey = (pages * 255).to(torch.uint8)
    assert torch.equal(augment.degrade(grey, 0.0), grey)


def test_degraded_pages_are_grey_bytes_and_repeat_with_the_seed(pages: Tensor) -> None:
    grey = (pages * 255).to(torch.uint8).repeat(6, 1, 1, 1)
    outs = []
    for seed in (6, 6, 7):
        torch.manual_seed(seed)
        outs.append(augment.degrade(grey, 1.0))
    assert outs[0].dtype == torch.uint8
    assert outs[0].shape == (24, 1, 128, 96)
    assert outs[0].is_contiguous()
    assert torch.equal(outs[0], outs[1])
    assert not torch.equal(outs[0], outs[2])
    untouched = (outs[0] == grey).flatten(1).all(1).float().mean()
    assert 0.1 < untouched < 0.6


def test_whole_effects_run_in_their_order_on_one_page(pages: Tensor) -> None:
    torch.manual_seed(8)
    for _ in range(20):
        out = augment.degrade((pages[:1] * 255).to(torch.uint8), 3.0)
        assert out.shape == (1, 1, 128, 96)

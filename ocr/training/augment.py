"""What happens to paper, cameras and files, applied to batches of clean pages on the training device.

Each function takes and returns [B, 1, H, W] float in 0..1 (1 is paper) unless it says otherwise, and decides
by itself which of the B pages it touches.
"""

import math

import torch
import torch.nn.functional as F

Tensor = torch.Tensor


def _gate(x: Tensor, share: float) -> Tensor:
    """[B, 1, 1, 1] bool: which pages are touched."""
    return torch.rand(x.shape[0], 1, 1, 1, device=x.device) < share


def _uniform(x: Tensor, low: float, high: float, *shape: int) -> Tensor:
    return low + (high - low) * torch.rand(x.shape[0], *(shape or (1, 1, 1)), device=x.device)


def thickness(x: Tensor, share: float) -> Tensor:
    """Ink a little bolder or thinner."""
    bold = -F.max_pool2d(-x, 3, 1, 1)
    thin = F.max_pool2d(x, 3, 1, 1)
    other = torch.where(_gate(x, 0.65), bold, thin)
    return torch.where(_gate(x, share), torch.lerp(x, other, _uniform(x, 0.1, 0.45)), x)


def blur(x: Tensor, share: float) -> Tensor:
    """Gaussian blur of 0.4 to 1.3 px, per page."""
    sigma = torch.where(_gate(x, share), _uniform(x, 0.4, 1.3), torch.full_like(x[:, :1, :1, :1], 0.05))
    taps = torch.arange(-3, 4, device=x.device, dtype=x.dtype)
    kernel = torch.softmax(-(taps**2) / (2 * sigma.view(-1, 1) ** 2), 1)
    pages = x.transpose(0, 1)
    pages = F.conv2d(pages, kernel.view(-1, 1, 1, 7), padding=(0, 3), groups=x.shape[0])
    pages = F.conv2d(pages, kernel.view(-1, 1, 7, 1), padding=(3, 0), groups=x.shape[0])
    return pages.transpose(0, 1)


def lower_resolution(x: Tensor, share: float) -> Tensor:
    """The whole batch scanned at 55 to 95% of its resolution and scaled up again."""
    if torch.rand(()).item() > share:
        return x
    factor = 0.55 + 0.4 * torch.rand(()).item()
    small = F.interpolate(x, scale_factor=factor, mode="bilinear", antialias=True)
    return F.interpolate(small, x.shape[-2:], mode="bicubic").clamp(0, 1)


def uneven_light(x: Tensor, share: float) -> Tensor:
    """Shadows and vignettes: a smooth factor of 0.6 to 1 over the page."""
    field = F.interpolate(torch.rand(x.shape[0], 1, 4, 4, device=x.device), x.shape[-2:], mode="bicubic")
    strength = _gate(x, share) * _uniform(x, 0.05, 0.4)
    return x * (1 - strength * field.clamp(0, 1))


def bleed_through(x: Tensor, share: float) -> Tensor:
    """The back of the sheet shines through, mirrored."""
    back = x.roll(1, 0).flip(-1)
    return x - _gate(x, share) * _uniform(x, 0.03, 0.15) * (1 - back) * x


def noise(x: Tensor, share: float) -> Tensor:
    strength = _gate(x, share) * _uniform(x, 0.01, 0.09)
    speck = torch.rand_like(x)
    rate = _gate(x, share / 6) * _uniform(x, 0.0, 0.004)
    x = torch.where(speck < rate, torch.zeros_like(x), torch.where(speck > 1 - rate, torch.ones_like(x), x))
    return x + strength * torch.randn_like(x)


def binarise(x: Tensor, share: float) -> Tensor:
    """One-bit fax."""
    return torch.where(_gate(x, share), (x > _uniform(x, 0.4, 0.7)).to(x.dtype), x)


def _dct() -> Tensor:
    n = torch.arange(8.0)
    basis = torch.cos((2 * n[None] + 1) * n[:, None] * math.pi / 16) / 2
    basis[0] /= math.sqrt(2)
    return basis


_QUANT = torch.tensor(
    [
        [16, 11, 10, 16, 24, 40, 51, 61], [12, 12, 14, 19, 26, 58, 60, 55], [14, 13, 16, 24, 40, 57, 69, 56],
        [14, 17, 22, 29, 51, 87, 80, 62], [18, 22, 37, 56, 68, 109, 103, 77], [24, 35, 55, 64, 81, 104, 113, 92],
        [49, 64, 78, 87, 103, 121, 120, 101], [72, 92, 95, 98, 112, 100, 103, 99],
    ]
)  # fmt: skip


def jpeg(x: Tensor, share: float) -> Tensor:
    """Luminance quantisation of JPEG at quality 25 to 90 (sides divisible by 8)."""
    quality = _uniform(x, 25, 90, 1, 1, 1, 1, 1)
    scale = torch.where(quality < 50, 50 / quality, 2 - quality / 50)
    table = (_QUANT.to(x.device) * scale / 255).clamp(min=1 / 255)
    dct = _dct().to(x)
    batch, _, height, width = x.shape
    blocks = x.view(batch, height // 8, 8, width // 8, 8).transpose(2, 3).unsqueeze(1).float()
    coefficients = torch.round(dct @ blocks @ dct.T / table) * table
    restored = (dct.T @ coefficients @ dct).squeeze(1).transpose(2, 3).reshape(x.shape)
    return torch.where(_gate(x, share), restored.to(x.dtype), x)


def colour(x: Tensor, share: float) -> Tensor:
    """[B, 3, H, W]: ink and paper get colours; one coloured page in eight is light on dark."""
    paper, ink = _uniform(x, 0.72, 1.0, 3, 1, 1), _uniform(x, 0.0, 0.35, 3, 1, 1)
    grey = _gate(x, 0.5)
    paper = torch.where(grey, paper.mean(1, keepdim=True).expand_as(paper), paper)
    ink = torch.where(grey, ink.mean(1, keepdim=True).expand_as(ink), ink)
    dark = _gate(x, 0.12)
    paper, ink = torch.where(dark, ink, paper), torch.where(dark, paper, ink)
    gate = _gate(x, share)
    paper = torch.where(gate, paper, torch.ones_like(paper))
    ink = torch.where(gate, ink, torch.zeros_like(ink))
    return ink + (paper - ink) * x


@torch.no_grad()
def degrade(x: Tensor, strength: float = 1.0) -> Tensor:
    """[B, 3, H, W] uint8 RGB from [B, 1, H, W] uint8 grey; at strength 1 about a third stay clean."""
    y = x.to(torch.float32) / 255
    share = strength * 0.22
    y = bleed_through(thickness(y, share), share / 2)
    y = blur(lower_resolution(y, strength * 0.35), share * 1.5)
    y = noise(uneven_light(y, share), share * 1.5).clamp(0, 1)
    y = jpeg(binarise(y, share / 4), share * 1.5)
    y = colour(y.clamp(0, 1), share * 1.3)
    return (y.clamp(0, 1) * 255).round().to(torch.uint8)

"""Effects of scanners, cameras and files: focus, light, contrast, noise, fax, JPEG, shades.

Each effect takes pages [N, 1, H, W] float in 0..1 (1 is paper) and an amount [N, 1, 1, 1] in 0..1, and returns
pages of the same shape; at amount 0 a page stays as it is.
"""

import math

import torch
import torch.nn.functional as F

from ocr.training.augment.paper import along, chance, field, uniform

Tensor = torch.Tensor
_REACH_PX = 6


def _separable(x: Tensor, across: Tensor, down: Tensor) -> Tensor:
    """Convolves each page with its own kernels [N, taps] along rows and columns."""
    pages, taps = x.transpose(0, 1), across.shape[1]
    pages = F.pad(pages, (_REACH_PX,) * 4, mode="replicate")
    pages = F.conv2d(pages, across.view(-1, 1, 1, taps), groups=x.shape[0])
    return F.conv2d(pages, down.view(-1, 1, taps, 1), groups=x.shape[0]).transpose(0, 1)


def _gauss(x: Tensor, sigma: Tensor) -> Tensor:
    """Returns [N, taps] kernels of sigma [N, 1, 1, 1] px."""
    taps = torch.arange(-_REACH_PX, _REACH_PX + 1, device=x.device, dtype=x.dtype)
    return torch.softmax(-(taps**2) / (2 * sigma.view(-1, 1).clamp(min=0.05) ** 2), 1)


def blur(x: Tensor, amount: Tensor) -> Tensor:
    """Blurs with a Gaussian of up to 1.8 px, slightly stronger in one direction on some pages."""
    sigma = 1.8 * amount
    return _separable(x, _gauss(x, sigma), _gauss(x, sigma * uniform(x, 0.75, 1.0)))


def motion(x: Tensor, amount: Tensor) -> Tensor:
    """Moves the sheet by up to 5 px across or down during the scan."""
    taps = torch.arange(-_REACH_PX, _REACH_PX + 1, device=x.device, dtype=x.dtype)
    box = (1 + 2 * amount.view(-1, 1) - taps.abs()).clamp(0, 1)
    still, moved = _gauss(x, 0.3 * amount), box / box.sum(1, keepdim=True)
    across = chance(x, 0.5).view(-1, 1)
    return _separable(x, torch.where(across, moved, still), torch.where(across, still, moved))


def sharpen(x: Tensor, amount: Tensor) -> Tensor:
    """Applies a scanner's unsharp mask: strokes darker than they were, with a bright halo."""
    soft = _gauss(x, uniform(x, 0.8, 1.8))
    return x + 1.6 * amount * (x - _separable(x, soft, soft))


def lower_resolution(x: Tensor, factor: float) -> Tensor:
    """Scans the pages at `factor` of their resolution and scales them up again, in one of three ways."""
    small = F.interpolate(x, scale_factor=factor, mode="bilinear", antialias=True)
    how = ("bilinear", "bicubic", "nearest")[int(torch.randint(0, 3, ())) if factor > 0.75 else 0]
    return F.interpolate(small, x.shape[-2:], mode=how)


def uneven_light(x: Tensor, amount: Tensor) -> Tensor:
    """Adds shadows and vignettes: a smooth factor, down to 0.45."""
    return x * (1 - 0.55 * amount * field(x, 4))


def edge_shadow(x: Tensor, amount: Tensor) -> Tensor:
    """Adds a dark band that fades out from one side, as at a spine or an open lid."""
    horizontal, far = chance(x, 0.5), chance(x, 0.5)
    across, down = along(x, 3), along(x, 2)
    across = torch.where(far, x.shape[3] - 1 - across, across)
    down = torch.where(far, x.shape[2] - 1 - down, down)
    reach = x.shape[3] * uniform(x, 0.006, 0.035)
    band = torch.exp(-torch.where(horizontal, across, down) / reach)
    return x * (1 - 0.75 * amount * band)


def tone(x: Tensor, amount: Tensor) -> tuple[Tensor, Tensor]:
    """Changes gamma and lowers contrast, to 0.17 at least, on paper of 0.6 to 0.9.

    Also returns the contrast [N, 1, 1, 1].
    """
    contrast = 1 - 0.83 * amount
    ink = (1 - contrast) * uniform(x, 0.45, 0.9)
    gamma = torch.exp2(amount * uniform(x, -1.0, 1.0))
    return ink + contrast * x.clamp(0, 1) ** gamma, contrast


def noise(x: Tensor, amount: Tensor, contrast: Tensor) -> Tensor:
    """Adds Gaussian noise up to 0.15 (less where the contrast is low), fine or in grains of 2 px."""
    grains = torch.randn_like(x)
    soft = F.avg_pool2d(grains, 2, 1, 1)[..., 1:, 1:] * 1.6
    grains = torch.where(chance(x, 0.3), soft, grains)
    return x + 0.15 * amount * (0.2 + 0.8 * contrast) * grains


def salt_and_pepper(x: Tensor, amount: Tensor) -> Tensor:
    """Adds black and white specks on up to 2% of the pixels."""
    speck, rate = torch.rand_like(x), 0.01 * amount
    x = torch.where(speck < rate, torch.zeros_like(x), x)
    return torch.where(speck > 1 - rate, torch.ones_like(x), x)


def dropouts(x: Tensor, amount: Tensor) -> Tensor:
    """Turns rows white, and adds pale or dark streaks down the page."""
    height, width = x.shape[-2:]
    rows = uniform(x, 0, 1, 1, height, 1) < 0.02 * amount
    columns = uniform(x, 0, 1, 1, 1, width) < 0.012 * amount
    shade, depth = chance(x, 0.5).to(x.dtype), uniform(x, 0.15, 0.5)
    x = torch.where(rows, torch.ones_like(x), x)
    return torch.where(columns, torch.lerp(x, shade.expand_as(x), depth), x)


def _bayer(x: Tensor) -> Tensor:
    """Returns [8, 8] thresholds of ordered dither in 0..1."""
    table = torch.zeros(1, 1, device=x.device)
    for _ in range(3):
        table = torch.cat(
            [torch.cat([4 * table, 4 * table + 2], 1), torch.cat([4 * table + 3, 4 * table + 1], 1)]
        )
    return (table + 0.5) / 64


def fax(x: Tensor, amount: Tensor, factor: float) -> Tensor:
    """Makes pages one-bit at `factor` of the resolution: by threshold, ordered dither, or as error diffusion scatters.

    Paper and light are evened out first, as fax machines do; the amount moves the threshold and widens the dither.
    """
    small = F.interpolate(x, scale_factor=factor, mode="bilinear", antialias=True) if factor < 1 else x
    height, width = small.shape[-2:]
    smooth = F.avg_pool2d(small, 4, 4, ceil_mode=True)
    paper = F.interpolate(F.adaptive_max_pool2d(smooth, (9, 7)), (height, width), mode="bilinear").clamp(
        0.05, 1
    )
    dark = F.interpolate(-F.adaptive_max_pool2d(-smooth, (1, 1)), (height, width)).clamp(max=0.8)
    even = ((small - dark) / (paper - dark).clamp(min=0.05)).clamp(0, 1)
    ordered = _bayer(x).repeat(-(-height // 8), -(-width // 8))[:height, :width]
    scattered = torch.rand_like(small)
    scattered = (scattered - F.avg_pool2d(scattered, 3, 1, 1)).mul(0.9).add(0.5)  # little at low frequencies
    pattern = torch.where(chance(x, 0.5), ordered.expand_as(small), scattered) - 0.5
    dithered = chance(x, 0.45)
    spread = torch.where(dithered, 0.25 + 0.4 * amount, torch.zeros_like(amount))
    even = 0.5 + (even - 0.5) * (1 - 0.4 * spread)  # dither shows where paper is not white or ink not black
    threshold = 0.55 + uniform(x, -0.15, 0.2) * amount * torch.where(dithered, 0.3, 1.0) + spread * pattern
    bits = (even > threshold).to(x.dtype)
    bits = (
        F.interpolate(bits, x.shape[-2:], mode="bilinear" if factor < 0.9 else "nearest")
        if factor < 1
        else bits
    )
    return torch.where(amount > 0, bits, x)


def coarse_fax(x: Tensor, amount: Tensor) -> Tensor:
    """Makes pages one-bit at half the resolution down, as faxes of 200 x 100 dpi are, some rows spoilt."""
    height, width = x.shape[-2:]
    rows = height // 2
    small = F.interpolate(x, (rows, width), mode="bilinear", antialias=True)
    bits = (small > 0.78 - 0.2 * amount * uniform(x, 0, 1)).to(x.dtype)
    spoilt, lost = (uniform(x, 0, 1, 1, rows, 1) < share * amount for share in (0.06, 0.01))
    source = (torch.arange(rows, device=x.device).view(1, 1, -1, 1) - spoilt.long()).clamp(min=0)
    bits = torch.where(lost, torch.ones_like(bits), bits.gather(2, source.expand_as(bits)))
    bits = F.interpolate(bits, (height, width), mode="nearest")
    return torch.where(amount > 0, bits, x)


def _dct(x: Tensor) -> Tensor:
    n = torch.arange(8.0, device=x.device)
    basis = torch.cos((2 * n[None] + 1) * n[:, None] * math.pi / 16) / 2
    return torch.cat([basis[:1] / math.sqrt(2), basis[1:]])


_QUANT = torch.tensor(
    [
        [16, 11, 10, 16, 24, 40, 51, 61], [12, 12, 14, 19, 26, 58, 60, 55], [14, 13, 16, 24, 40, 57, 69, 56],
        [14, 17, 22, 29, 51, 87, 80, 62], [18, 22, 37, 56, 68, 109, 103, 77], [24, 35, 55, 64, 81, 104, 113, 92],
        [49, 64, 78, 87, 103, 121, 120, 101], [72, 92, 95, 98, 112, 100, 103, 99],
    ]
)  # fmt: skip


def jpeg(x: Tensor, amount: Tensor, contrast: Tensor) -> Tensor:
    """Compresses as JPEG at quality 90 down to 20, less at low contrast: luminance only; sides divisible by 8."""
    quality = torch.maximum(90 - 70 * amount, 20 + 60 * (1 - contrast)).view(-1, 1, 1, 1, 1, 1)
    scale = torch.where(quality < 50, 50 / quality, 2 - quality / 50)
    table = (_QUANT.to(x.device) * scale / 255).clamp(min=1 / 255)
    dct = _dct(x)
    pages, _, height, width = x.shape
    blocks = x.view(pages, height // 8, 8, width // 8, 8).transpose(2, 3).unsqueeze(1) - 0.5
    coefficients = torch.round(dct @ blocks @ dct.T / table) * table
    restored = (dct.T @ coefficients @ dct).squeeze(1).transpose(2, 3).reshape(x.shape) + 0.5
    return torch.where(amount > 0, restored, x)


def shades(x: Tensor, amount: Tensor) -> Tensor:
    """Makes paper darker and ink paler, as colours are in grey; one page in seven becomes light on dark."""
    # The mean of three, as of red, green and blue.
    paper = 1 - uniform(x, 0, 0.35, 3, 1, 1).mean(1, keepdim=True) * amount
    ink = uniform(x, 0, 0.4, 3, 1, 1).mean(1, keepdim=True) * amount
    dark = chance(x, 0.14) & (amount > 0)
    paper, ink = torch.where(dark, ink, paper), torch.where(dark, paper, ink)
    return ink + (paper - ink) * x.clamp(0, 1)

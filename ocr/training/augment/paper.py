"""Effects on paper, before a page is scanned: ink too thick, thin or faded, tinted and ruled paper, its back.

Each effect takes pages [N, 1, H, W] float in 0..1 (1 is paper) and an amount [N, 1, 1, 1] in 0..1, and returns
pages of the same shape; at amount 0 a page stays as it is. Text stays readable at amount 1. Devices and random
numbers are PyTorch's: the same seed gives the same pages.
"""

import math

import torch
import torch.nn.functional as F

Tensor = torch.Tensor


def uniform(x: Tensor, low: float, high: float, *shape: int) -> Tensor:
    """Returns a number between low and high for each page: [N, 1, 1, 1], or [N, *shape]."""
    return low + (high - low) * torch.rand(x.shape[0], *(shape or (1, 1, 1)), device=x.device)


def chance(x: Tensor, share: float) -> Tensor:
    """Returns [N, 1, 1, 1] bool: true for about this share of the pages."""
    return torch.rand(x.shape[0], 1, 1, 1, device=x.device) < share


def field(x: Tensor, cells: int, *, coarse_px: int = 8) -> Tensor:
    """Returns a smooth random field of 0..1 over each page, with about `cells` hills along each side."""
    height, width = x.shape[-2:]
    small = torch.rand(x.shape[0], 1, cells, cells, device=x.device)
    middle = (max(2, height // coarse_px), max(2, width // coarse_px))
    smooth = F.interpolate(small, middle, mode="bicubic").clamp(0, 1)
    return F.interpolate(smooth, (height, width), mode="bilinear")


def along(x: Tensor, axis: int) -> Tensor:
    """Returns pixel positions 0, 1, ... along the rows (axis 2) or columns (axis 3), ready to broadcast over pages."""
    shape = [1, 1, 1, 1]
    shape[axis] = x.shape[axis]
    return torch.arange(x.shape[axis], device=x.device, dtype=x.dtype).view(shape)


def thickness(x: Tensor, amount: Tensor) -> Tensor:
    """Makes ink bolder (60% of the pages) or thinner."""
    bold = chance(x, 0.6)
    other = torch.where(bold, -F.max_pool2d(-x, 3, 1, 1), F.max_pool2d(x, 3, 1, 1))
    return torch.lerp(x, other, amount * torch.where(bold, 0.7, 0.45))


def erosion(x: Tensor, amount: Tensor) -> Tensor:
    """Breaks strokes with small inkless specks of 2 to 3 px."""
    height, width = x.shape[-2:]
    specks = torch.rand(x.shape[0], 1, height // 2 + 1, width // 2 + 1, device=x.device)
    holes = F.interpolate(specks, (height, width), mode="bilinear")
    holes = ((holes - 1 + 0.38 * amount) * 6).clamp(0, 1)
    return x + (1 - x) * holes * 0.9


def fading(x: Tensor, amount: Tensor) -> Tensor:
    """Fades ink in parts of the page, down to a quarter of its contrast."""
    return x + (1 - x) * (0.75 * amount * field(x, 5))


def background(x: Tensor, amount: Tensor) -> Tensor:
    """Prints dots or lines of 3 to 9 px pitch behind the text, everywhere or in parts of the page."""
    pitch, angle = uniform(x, 3, 9), uniform(x, 0, math.pi)
    across, down = along(x, 3), along(x, 2)
    turn_x, turn_y = angle.cos() * (2 * math.pi / pitch), angle.sin() * (2 * math.pi / pitch)
    wave = torch.sin(across * turn_x + down * turn_y)
    lines = chance(x, 0.25).to(x.dtype)
    wave = wave * torch.lerp(torch.sin(down * turn_x - across * turn_y), torch.ones_like(x), lines)
    screen = (3 * (wave - uniform(x, -0.2, 0.6))).clamp(0, 1)
    part = (8 * (field(x, 4) - uniform(x, -0.3, 0.6))).clamp(0, 1)
    return x * (1 - (0.05 + 0.35 * amount) * (amount > 0) * screen * part)


def ruled(x: Tensor, amount: Tensor) -> Tensor:
    """Draws thin lines across, and on some pages down, that cross the text as a form's or a notebook's do."""
    slope = uniform(x, -0.01, 0.01)
    pitch = uniform(x, 18, 90)
    rows = (along(x, 2) + slope * along(x, 3) + uniform(x, 0, 90)) % pitch
    lines = (rows < uniform(x, 1, 2.5)).to(x.dtype)
    columns = (along(x, 3) + uniform(x, 0, 90)) % (pitch * uniform(x, 1, 6))
    lines = torch.maximum(lines, (columns < 1.5) * chance(x, 0.3).to(x.dtype))
    return x * (1 - (0.08 + 0.5 * amount) * (amount > 0) * lines)


def texture(x: Tensor, amount: Tensor) -> Tensor:
    """Adds the fibres and mottles of rough or recycled paper."""
    height, width = x.shape[-2:]
    fine = torch.rand(x.shape[0], 1, height // 3 + 1, width // 2 + 1, device=x.device)
    rough = F.interpolate(fine, (height, width), mode="bilinear") + 0.8 * field(x, 48, coarse_px=4)
    return x * (1 - 0.22 * amount * (rough / 1.8))


def bleed_through(x: Tensor, amount: Tensor) -> Tensor:
    """Lets the back of the sheet (another page of the batch) show through by up to 0.35: mirrored, slightly blurred."""
    down = int(torch.randint(-40, 41, ()))
    back = x.roll((1, down), (0, 2)).flip(-1)
    back = F.avg_pool2d(back, 3, 1, 1, count_include_pad=False)
    return x * (1 - 0.35 * amount * (1 - back))


def carbon(x: Tensor, amount: Tensor) -> Tensor:
    """Makes typed letters those of a carbon copy: soft and grainy, paler in parts of the page, with smudges."""
    height, width = x.shape[-2:]
    soft = F.avg_pool2d(F.pad(x, (1, 1, 1, 1), mode="replicate"), 3, 1)
    grain = torch.rand(x.shape[0], 1, height // 2 + 1, width // 2 + 1, device=x.device)
    grain = F.interpolate(grain, (height, width), mode="bilinear")
    ink = (1 - torch.lerp(x, soft, amount)) * (1 - 0.7 * amount * grain) * (1 - 0.35 * amount * field(x, 6))
    smudges = 0.12 * amount * (4 * (field(x, 7) - 0.7)).clamp(0, 1)
    return 1 - torch.maximum(ink, smudges)

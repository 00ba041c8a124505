"""The network that finds lines of text: a small U-Net over a whole page at about 100 dpi."""

from torch import Tensor, nn
from torch.nn import functional as F

from ocr.line_reader.networks import WIDTHS


class FinderNet(nn.Module):
    """Tells of each cell whether it lies in a line's small letters, how far below is the baseline, and the type size.

    widths: channels at 1/2, 1/4, 1/8, 1/16 and 1/32 of the page. Convolutions of 3 x 3 with batch norms, one residual
    block a scale and two at the smallest, added up again to 1/4.
    Source: Ronneberger et al. 2015, U-Net (skips are added here, not concatenated); Liao et al. 2020, DB, and Kiessling
    2020 (kraken) for text found as narrow bands, which do not touch where lines do.
    """

    def __init__(self, widths: tuple[int, int, int, int, int] = WIDTHS) -> None:
        super().__init__()
        a, b, c, d, e = widths
        self.s2 = _conv(1, a, 2)
        self.s4 = nn.Sequential(_conv(a, b, 2), Residual(b))
        self.s8 = nn.Sequential(_conv(b, c, 2), Residual(c))
        self.s16 = nn.Sequential(_conv(c, d, 2), Residual(d))
        self.s32 = nn.Sequential(_conv(d, e, 2), Residual(e), Residual(e))
        self.u16, self.u8, self.u4 = nn.Conv2d(e, d, 1), nn.Conv2d(d, c, 1), nn.Conv2d(c, b, 1)
        self.r16, self.r8, self.r4 = Residual(d), Residual(c), Residual(b)
        self.head = nn.Conv2d(b, 3, 1)

    def forward(self, darkness: Tensor) -> Tensor:
        """Returns [B, 3, H / 4, W / 4] for [B, 1, H, W] in 0..1 (0 is white), sides multiples of 32.

        Channels: the logit of being text; the baseline's distance below the cell's middle, in DROP_PX; the logarithm of
        the type size in SIZE_PX.
        """
        quarter = self.s4(self.s2(darkness))
        eighth = self.s8(quarter)
        sixteenth = self.s16(eighth)
        found = self.r16(sixteenth + _doubled(self.u16(self.s32(sixteenth))))
        found = self.r8(eighth + _doubled(self.u8(found)))
        found = self.r4(quarter + _doubled(self.u4(found)))
        cells: Tensor = self.head(found)
        return cells


class Residual(nn.Module):
    """Two convolutions whose result is added to their input."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.a = _conv(channels, channels)
        self.b = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Returns a tensor of the shape of x."""
        return F.relu(x + self.b(self.a(x)))


def _conv(before: int, after: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()
    )


def _doubled(x: Tensor) -> Tensor:
    return F.interpolate(x, scale_factor=2, mode="nearest")

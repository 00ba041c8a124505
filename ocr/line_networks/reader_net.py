"""The network that reads a line of text: convolutions over its image, a small transformer along it, CTC."""

from contextlib import nullcontext
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ocr.errors import CheckpointError
from ocr.int8 import fill
from ocr.line_reader.line_images import HEIGHT_PX
from ocr.line_reader.networks import KERNEL, STEP_PX, ReaderSizes, read_sizes


class ReaderNet(nn.Module):
    """Reads line images into frames of characters for CTC, four pixels a frame where nothing else is asked for.

    sizes: num_classes: the blank (0), the space (1) and the characters. height: line images are reduced to so many
    pixels first, 40 or 32. frames: of each step. width, layers, heads: of the transformer, which has a convolution
    along the line in each layer instead of positions. stem: channels at 1/2, 1/4 and 1/8; blocks: how many residual
    blocks at each.
    Source: Graves et al. 2006, CTC; Shi et al. 2015, CRNN; Diaz et al. 2021 for self-attention with CTC.
    """

    def __init__(self, sizes: ReaderSizes) -> None:
        super().__init__()
        self.sizes, self.step_px = sizes, sizes.step_px
        self.num_classes, self.height, self.frames = sizes.num_classes, sizes.height, sizes.frames
        parts: list[nn.Module] = []
        before = 1
        for channels, number in zip(sizes.stem, sizes.blocks, strict=True):
            parts += [nn.Conv2d(before, channels, 3, stride=2, padding=1, bias=False)]
            parts += [nn.BatchNorm2d(channels), nn.ReLU()]
            parts += [_ConvBlock(channels) for _ in range(number)]
            before = channels
        self.stem = nn.Sequential(*parts)
        self.collapse = nn.Linear(sizes.stem[-1] * (sizes.height // STEP_PX), sizes.width)
        self.trunk = nn.ModuleList(_TrunkBlock(sizes.width, sizes.heads) for _ in range(sizes.layers))
        self.norm = nn.LayerNorm(sizes.width)
        self.head = nn.Linear(sizes.width, sizes.frames * sizes.num_classes)

    def forward(self, lines: Tensor, widths: Tensor) -> tuple[Tensor, Tensor]:
        """Returns logits [B, frames * steps, num_classes] and the number of frames of each line [B].

        lines: [B, 1, HEIGHT_PX, W] normalised, W a multiple of STEP_PX, 0 where padded. widths: [B], pixels of each.
        """
        if self.height != HEIGHT_PX:
            lines = F.pad(lines, (0, -lines.shape[3] % self.step_px))
            size = self.height, lines.shape[3] * self.height // HEIGHT_PX
            lines = F.interpolate(lines, size, mode="bilinear", align_corners=False)
        found = self.stem(lines)
        batch, channels, height, steps = found.shape
        tokens = self.collapse(found.permute(0, 3, 1, 2).reshape(batch, steps, channels * height))
        own = (widths + self.step_px - 1) // self.step_px
        inside = torch.arange(steps, device=lines.device)[None] < own[:, None]
        for block in self.trunk:
            tokens = block(tokens, inside)
        logits = self.head(self.norm(tokens)).view(batch, self.frames * steps, self.num_classes)
        return logits, self.frames * own


def open_net(folder: Path) -> tuple[ReaderNet, str]:
    """Returns the network in a folder of a line reader, and the characters that it knows, in the order of its classes.

    Raises: CheckpointError where there is none.
    """
    try:
        characters, sizes = read_sizes(folder)
        net = ReaderNet(sizes)
        fill(net, folder / "reader.safetensors")
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise CheckpointError(
            f"{folder} holds no line reader ({error}); name a model that has one"
        ) from error
    return net, characters


class _ConvBlock(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.dw = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
        self.n = nn.BatchNorm2d(channels)
        self.up = nn.Conv2d(channels, 2 * channels, 1)
        self.down = nn.Conv2d(2 * channels, channels, 1, bias=False)
        self.n2 = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        """Returns a tensor of the shape of x, [B, C, H, W], fastest with its channels last.

        The 1 x 1 convolutions are matrix products here: as convolutions they take four times as long on one CPU thread.
        """
        features = self.n(_depthwise(x, self.dw.weight, self.dw.bias, (1, 1))).permute(0, 2, 3, 1)
        wide = F.relu(F.linear(features, self.up.weight.flatten(1), self.up.bias), inplace=True)
        added: Tensor = x + self.n2(
            F.linear(wide, self.down.weight.flatten(1), self.down.bias).permute(0, 3, 1, 2)
        )
        return added


class _TrunkBlock(nn.Module):
    def __init__(self, width: int, heads: int, ratio: int = 3) -> None:
        super().__init__()
        self.heads = heads
        self.conv = nn.Conv1d(width, width, KERNEL, padding=KERNEL // 2, groups=width)
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, ratio * width), nn.Linear(ratio * width, width)

    def forward(self, tokens: Tensor, inside: Tensor) -> Tensor:
        """Returns tokens [B, T, D]. inside: [B, T] bool, False where padded."""
        tokens = tokens + self._along(tokens * inside[..., None])
        batch, steps, width = tokens.shape
        qkv = self.qkv(self.n1(tokens)).view(batch, steps, 3, self.heads, width // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=inside[:, None, None])
        tokens = tokens + self.out(attended.transpose(1, 2).reshape(batch, steps, width))
        added: Tensor = tokens + self.down(F.gelu(self.up(self.n2(tokens)), approximate="tanh"))
        return added

    def _along(self, tokens: Tensor) -> Tensor:
        """Returns the convolution along the line, [B, T, D] -> [B, T, D], as one in two dimensions: no copy is made."""
        conv = self.conv
        plane = tokens.transpose(1, 2).unsqueeze(2)
        made = _depthwise(plane, conv.weight.unsqueeze(2), conv.bias, (0, KERNEL // 2))
        return made.squeeze(2).transpose(1, 2)


def _depthwise(plane: Tensor, weight: Tensor, bias: Tensor | None, padding: tuple[int, int]) -> Tensor:
    """Returns each channel [B, C, H, W] convolved by itself. Without a gradient by PyTorch's own kernel on a GPU:

    cuDNN takes .1 to .5 s to plan such a convolution for each shape that it has not seen.
    """
    with nullcontext() if torch.is_grad_enabled() else torch.backends.cudnn.flags(enabled=False):
        return F.conv2d(plane, weight, bias, padding=padding, groups=plane.shape[1])

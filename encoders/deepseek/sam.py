"""SAM image encoder as DeepSeek-OCR uses it: windowed ViT, neck, and two strided convolutions.

Shapes: B views, h = w = S/16 patches a side, C width, H heads, d = C/H, N = h*w.
Source: facebookresearch/segment-anything and deepseek-ai/DeepSeek-OCR (deepencoder.py). Differs in that
attention never stores a global block's N x N bias and position tables are computed once per resolution.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from encoders.attention import grid_attention, window_attention
from encoders.deepseek.position_tables import TableCache
from encoders.pointwise import add_norm, linear_gelu


@dataclass(frozen=True, slots=True, kw_only=True)
class SamConfig:
    """Sizes of the encoder; defaults are the published model's.

    pos_grid: side of the learnt absolute position grid, in patches. global_layers: those without windows.
    neck_channels, downsample_channels: outputs of the neck and of each strided convolution.
    """

    width: int = 768
    num_layers: int = 12
    num_heads: int = 12
    mlp_dim: int = 3072
    patch_px: int = 16
    pos_grid: int = 64
    window: int = 14
    global_layers: tuple[int, ...] = (2, 5, 8, 11)
    neck_channels: int = 256
    downsample_channels: tuple[int, int] = (512, 1024)
    layer_norm_eps: float = 1e-6


@dataclass(frozen=True, slots=True)
class RelPos:
    """The relative positions of one block. rows_qkd, cols_qkd: [side, side, d], the vector for query q, key k.

    key_axes: [N, 2*side] one-hot row and one-hot column of every key in a global block, None in a window.
    """

    rows_qkd: Tensor
    cols_qkd: Tensor
    key_axes: Tensor | None


@dataclass(frozen=True, slots=True)
class SamTables:
    """Position tables of one resolution. pos_embed: [1, h, w, C]. rel_pos: one a block."""

    pos_embed: Tensor
    rel_pos: tuple[RelPos, ...]


def resize_grid(grid: Tensor, side: int) -> Tensor:
    """Returns the grid resized: [1, n, n, C] -> [1, side, side, C], bicubic, antialiased, in float32, as published."""
    if grid.shape[1] == side:
        return grid
    channels_first = grid.permute(0, 3, 1, 2).float()
    resized = functional.interpolate(
        channels_first, size=(side, side), mode="bicubic", antialias=True, align_corners=False
    )
    return resized.permute(0, 2, 3, 1).to(grid.dtype)


def relative_table(rel_pos: Tensor, side: int) -> Tensor:
    """Returns [side, side, d] for [2n-1, d]: entry (q, k) is the vector of distance q - k. Interpolated in float32."""
    length = 2 * side - 1
    if rel_pos.shape[0] != length:
        resized = functional.interpolate(rel_pos.float().t()[None], size=length, mode="linear")
        rel_pos = resized[0].t().to(rel_pos.dtype)
    position = torch.arange(side, device=rel_pos.device)
    return rel_pos[position[:, None] - position[None, :] + side - 1]


def key_axes(side: int, like: Tensor) -> Tensor:
    """Returns [side*side, 2*side]: for each key its row, then its column, one-hot."""
    eye = torch.eye(side, device=like.device, dtype=like.dtype)
    rows = eye[:, None, :].expand(side, side, side)
    cols = eye[None, :, :].expand(side, side, side)
    return torch.cat([rows, cols], dim=-1).reshape(side * side, 2 * side)


class SamAttention(nn.Module):
    """Multi-head attention over a square of patches, with decomposed relative positions.

    window: side of the windows within which patches attend to each other, 0 for all patches together.
    """

    def __init__(self, config: SamConfig, window: int) -> None:
        super().__init__()
        self.num_heads = config.num_heads
        self.window = window
        head_dim = config.width // config.num_heads
        self.scale = head_dim**-0.5
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.proj = nn.Linear(config.width, config.width)
        side = window or config.pos_grid
        self.rel_pos_h = nn.Parameter(torch.zeros(2 * side - 1, head_dim))
        self.rel_pos_w = nn.Parameter(torch.zeros(2 * side - 1, head_dim))

    def forward(self, x: Tensor, rel_pos: RelPos) -> Tensor:
        """Returns the attention's output: [B, h, w, C] -> [B, h, w, C].

        A page whose last windows reach beyond it is padded with zeros.
        """
        rows, cols = rel_pos.rows_qkd, rel_pos.cols_qkd
        qkv = self.qkv(x)
        if self.window:
            attended = window_attention(qkv, self.qkv.bias, rows, cols, self.scale, self.num_heads)
        else:
            attended = grid_attention(qkv, rows, cols, self.scale, self.num_heads, rel_pos.key_axes)
        projected: Tensor = self.proj(attended)
        return projected


class SamMlp(nn.Module):
    def __init__(self, config: SamConfig) -> None:
        super().__init__()
        self.lin1 = nn.Linear(config.width, config.mlp_dim)
        self.lin2 = nn.Linear(config.mlp_dim, config.width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.lin2(linear_gelu(x, self.lin1))
        return out


class SamBlock(nn.Module):
    """One transformer block. window: side of its attention windows, 0 for a global block."""

    def __init__(self, config: SamConfig, window: int) -> None:
        super().__init__()
        self.window = window
        self.norm1 = nn.LayerNorm(config.width, eps=config.layer_norm_eps)
        self.attn = SamAttention(config, window)
        self.norm2 = nn.LayerNorm(config.width, eps=config.layer_norm_eps)
        self.mlp = SamMlp(config)

    def forward(self, x: Tensor, update: Tensor, rel_pos: RelPos) -> tuple[Tensor, Tensor]:
        """Returns x and the update still to be added to it after this block, from those before it; both [B, h, w, C].

        Left to the next block's norm, the addition costs no extra pass over memory.
        """
        x, normed = add_norm(x, update, self.norm1)
        x, normed = add_norm(x, self.attn(normed, rel_pos), self.norm2)
        return x, self.mlp(normed)


class LayerNorm2d(nn.LayerNorm):
    """Normalises [B, C, h, w] over C."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def split_patches(pixels: Tensor, patch_px: int) -> Tensor:
    """Returns each patch's pixels, ordered as a convolution's weights: [B, 3, S, S] -> [B, h, w, 3 * patch_px^2]."""
    B, channels, side_px, _ = pixels.shape
    side = side_px // patch_px
    grid = pixels.reshape(B, channels, side, patch_px, side, patch_px)
    return grid.permute(0, 2, 4, 1, 3, 5).reshape(B, side, side, channels * patch_px**2)


class SamPatchEmbed(nn.Module):
    """A convolution whose stride is its kernel size, computed as one matrix product over patches, which is faster."""

    def __init__(self, config: SamConfig) -> None:
        super().__init__()
        self.proj = nn.Conv2d(3, config.width, kernel_size=config.patch_px, stride=config.patch_px)

    def forward(self, patches: Tensor) -> Tensor:
        """Returns features [B, h, w, C] for the normalised pixels of patches [B, h, w, 3 * patch_px^2]."""
        return functional.linear(patches, self.proj.weight.flatten(1), self.proj.bias)


class SamEncoder(nn.Module):
    """The SAM encoder. Parameter names are the published `sam_model.*`."""

    def __init__(self, config: SamConfig) -> None:
        super().__init__()
        self.config = config
        width, neck, eps = config.width, config.neck_channels, config.layer_norm_eps
        self.patch_embed = SamPatchEmbed(config)
        self.pos_embed = nn.Parameter(torch.zeros(1, config.pos_grid, config.pos_grid, width))
        windows = [0 if i in config.global_layers else config.window for i in range(config.num_layers)]
        self.blocks = nn.ModuleList(SamBlock(config, window) for window in windows)
        self.neck = nn.Sequential(
            nn.Conv2d(width, neck, kernel_size=1, bias=False),
            LayerNorm2d(neck, eps=eps),
            nn.Conv2d(neck, neck, kernel_size=3, padding=1, bias=False),
            LayerNorm2d(neck, eps=eps),
        )
        first, second = config.downsample_channels
        self.net_2 = nn.Conv2d(neck, first, kernel_size=3, stride=2, padding=1, bias=False)
        self.net_3 = nn.Conv2d(first, second, kernel_size=3, stride=2, padding=1, bias=False)
        self._tables: TableCache[SamTables] = TableCache()

    def tables(self, side: int) -> SamTables:
        """Returns the position tables for views of side x side patches."""
        sources = [self.pos_embed]
        for name, parameter in self.blocks.named_parameters():
            if name.endswith(("rel_pos_h", "rel_pos_w")):
                sources.append(parameter)
        return self._tables.get(side, sources, lambda: self._compute_tables(side))

    def prepare(self, side: int) -> list[Tensor]:
        """Returns all of these tables' tensors."""
        tables = self.tables(side)
        found: list[Tensor | None] = [tables.pos_embed]
        for relative in tables.rel_pos:
            found += [relative.rows_qkd, relative.cols_qkd, relative.key_axes]
        return [table for table in found if table is not None]

    def _compute_tables(self, side: int) -> SamTables:
        axes = key_axes(side, self.pos_embed)
        rel_pos = tuple(self._rel_pos(block, side, axes) for block in self.blocks)
        return SamTables(resize_grid(self.pos_embed, side), rel_pos)

    def _rel_pos(self, block: nn.Module, side: int, axes: Tensor) -> RelPos:
        assert isinstance(block, SamBlock)
        extent = block.window or side
        return RelPos(
            relative_table(block.attn.rel_pos_h, extent),
            relative_table(block.attn.rel_pos_w, extent),
            None if block.window else axes,
        )

    def patches(self, pixels: Tensor) -> Tensor:
        """Returns patch features before the neck: uint8 [B, 3, S, S] -> [B, h, w, C]."""
        x: Tensor = self.patch_embed(self._normalised(split_patches(pixels, self.config.patch_px)))
        tables = self.tables(x.shape[1])
        update = tables.pos_embed
        for block, rel_pos in zip(self.blocks, tables.rel_pos, strict=True):
            x, update = block(x, update, rel_pos)
        return x + update

    def _normalised(self, pixels: Tensor) -> Tensor:
        """Returns uint8 pixels as -1..1 (mean and deviation of 0.5) in the weights' dtype, exact for half integers."""
        return pixels.to(self.patch_embed.proj.weight.dtype).sub_(127.5).mul_(1 / 127.5)

    def downsample(self, patches: Tensor) -> Tensor:
        """Returns the neck's output after the strided convolutions: [B, h, w, C] -> [B, C', h/4, w/4]."""
        features: Tensor = self.net_3(self.net_2(self.neck(patches.permute(0, 3, 1, 2))))
        return features

    def forward(self, pixels: Tensor) -> Tensor:
        """Returns features [B, C', S/64, S/64] for uint8 [B, 3, S, S]."""
        return self.downsample(self.patches(pixels))

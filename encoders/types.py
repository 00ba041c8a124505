"""The encoder's outputs, which go to the language model."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedViews:
    """The encoded views of one page on one path (global or tiles).

    tokens_NTD: [N, g*g, D]. cells: [N, h, W] int16, the characters that the head reads in each view; None without
    such a head, or where other views of the page show its characters larger.
    """

    tokens_NTD: torch.Tensor
    cells: torch.Tensor | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionTokens:
    """The tokens of one page in the language model's embedding space.

    tokens_TD: [T, D] on the encoder's device and in its dtype: local raster with a newline a row,
        global raster with a newline a row, separator (deepseek-ocr order).
    num_local: number of the T tokens that belong to the local raster (0 for an untiled page).
    grid: (columns, rows) of the tiles; (1, 1) for an untiled page.
    cells_HW: int16, the class of the character in each 4 x 16 px cell of the tiles joined (of the global view, for
        an untiled page): 0 none, 1 a character without a class of its own, then the model's characters. On the
        encoder's device, or on the CPU where pipeline.device.run_encoder made it. None for a model without a character
        head.
    note: what else the family's decoder needs to know of the page, such as the grids of its views.
    """

    tokens_TD: torch.Tensor
    num_local: int
    grid: tuple[int, int]
    cells_HW: torch.Tensor | None = None
    note: object = None

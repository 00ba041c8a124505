"""The encoder's outputs, which go to the language model."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionTokens:
    """The tokens of one page in the language model's embedding space.

    tokens_TD: [T, D] on the encoder's device and in its dtype: local raster with a newline a row,
        global raster with a newline a row, separator (deepseek-ocr order).
    note: what else the family's decoder needs to know of the page, such as the grids of its views.
    """

    tokens_TD: torch.Tensor
    note: object = None

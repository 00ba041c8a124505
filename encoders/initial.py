"""Random weights of a new model, which one built on meta does without."""

import torch
from torch import Tensor, nn


def normal(tensor: Tensor, std: float) -> Tensor:
    """Returns the tensor, filled in place with normally distributed values; one on meta as it is.

    PyTorch imports its compiler to draw on meta: 3 of the 6 CPU seconds that a command took until its first page.
    """
    return tensor if tensor.is_meta else nn.init.normal_(tensor, std=std)


def embedding(num_rows: int, width: int, std: float) -> nn.Embedding:
    """Returns a table of such vectors."""
    table: nn.Embedding = nn.Embedding.from_pretrained(  # type: ignore[no-untyped-call]
        normal(torch.empty(num_rows, width), std), freeze=False
    )
    return table

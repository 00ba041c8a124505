"""Random initial weights of a new model; one built on the meta device skips them."""

import torch
from torch import Tensor, nn


def normal(tensor: Tensor, std: float) -> Tensor:
    """Returns the tensor, filled in place with normally distributed values; a meta tensor as it is.

    PyTorch imports its compiler to draw on meta: 3 of the 6 CPU seconds a command took to reach its first page.
    """
    return tensor if tensor.is_meta else nn.init.normal_(tensor, std=std)


def embedding(num_rows: int, width: int, std: float) -> nn.Embedding:
    """Returns an embedding table of normally distributed vectors, trainable."""
    table: nn.Embedding = nn.Embedding.from_pretrained(  # type: ignore[no-untyped-call]
        normal(torch.empty(num_rows, width), std), freeze=False
    )
    return table

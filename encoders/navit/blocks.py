"""The attention of document models' vision encoders: within each image, by transformers' projections.

Shapes: P patches, W hidden, H heads of D; N tokens of m patches each.
"""

from typing import Any

from torch import Tensor
from torch.nn import functional

from encoders.graphs.path import Tensors
from encoders.patches.layers import feed_forward
from encoders.patches.sequence_attention import Sequences, sequence_attention
from encoders.pointwise import add_norm, rotated

Turns = tuple[Tensor, Tensor]


def images_of(inputs: Tensors) -> Sequences:
    """Returns the batch's images as sequences of patches."""
    return Sequences(inputs["cu_seqlens"], inputs["longest"].shape[0])


def separate_attention(attention: Any, hidden: Tensor, turns: Turns | None, images: Sequences) -> Tensor:
    """Returns what each patch gathers from its image, [P, W], before the output projection.

    attention: with q_proj, k_proj, v_proj and num_heads. turns: of positions, None for a model without rotary ones.
    """
    shape = len(hidden), attention.num_heads, -1
    query, key = attention.q_proj(hidden).view(shape), attention.k_proj(hidden).view(shape)
    if turns is not None:
        query, key = rotated(query, key, *turns)
    value = attention.v_proj(hidden).view(shape)
    return sequence_attention(query, key, value, images).reshape(len(hidden), -1)


def siglip_block(block: Any, hidden: Tensor, turns: Turns | None, images: Sequences, output: Any) -> Tensor:
    """Returns the hidden states [P, W] after a layer of SigLIP's kind. output: its attention's last projection."""
    _, normed = add_norm(hidden, None, block.layer_norm1)
    attended = output(separate_attention(block.self_attn, normed, turns, images))
    hidden, normed = add_norm(hidden, attended, block.layer_norm2)
    return hidden + feed_forward(block.mlp, normed)


def square_product(hidden: Tensor, convolution: Any) -> Tensor:
    """Returns a convolution whose stride is its kernel over each token's square of patches: [P, W] -> [N, out].

    One matrix product: patches of a token lie together, row by row.
    """
    weight = convolution.weight
    squares = hidden.view(-1, hidden.shape[-1] * weight.shape[2] * weight.shape[3])
    return functional.linear(squares, weight.permute(0, 2, 3, 1).flatten(1), convolution.bias)

import torch
from hypothesis import given
from hypothesis import strategies as st

from ocr.checkpoints.int8 import expand, is_quantised, num_rows, quantise


@given(
    shape=st.sampled_from([(5, 7), (1, 4, 4, 6), (3, 2, 3, 3), (1, 9)]),
    seed=st.integers(0, 99),
    magnitude=st.floats(1e-2, 1e3),
)
def test_error_is_at_most_half_a_step_a_row(shape: tuple[int, ...], seed: int, magnitude: float) -> None:
    tensor = torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * magnitude
    values, scale = quantise(tensor)
    assert (values.dtype, values.shape, scale.dtype, scale.shape) == (
        torch.int8, tensor.shape, torch.float16, (num_rows(shape),),
    )  # fmt: skip
    difference = (expand(values, scale) - tensor).reshape(num_rows(shape), -1).abs().amax(1)
    largest = tensor.reshape(num_rows(shape), -1).abs().amax(1)
    rounding = 2**-11 + 2**-25 / (largest / 127)  # of the scale, in float16; below 2**-14 steps are absolute
    assert (difference <= largest / 254 * (1 + rounding) + largest * rounding + 1e-7 * largest).all()


def test_zero_rows_stay_zero() -> None:
    assert torch.equal(expand(*quantise(torch.zeros(3, 4))), torch.zeros(3, 4))


def test_vectors_and_position_tables_keep_sixteen_bits() -> None:
    assert is_quantised("model.layers.0.mlp.up_proj.weight", torch.zeros(2, 2))
    assert is_quantised("model.sam_model.pos_embed", torch.zeros(1, 2, 2, 2))
    assert not is_quantised("model.norm.weight", torch.zeros(2))
    assert not is_quantised("model.layers.1.mlp.gate.weight", torch.zeros(2, 2))
    assert not is_quantised("model.sam_model.blocks.0.attn.rel_pos_h", torch.zeros(3, 2))

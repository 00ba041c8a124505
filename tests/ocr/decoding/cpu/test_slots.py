import pytest
import torch

from encoders.bfloat16 import multiply_in_bfloat16
from ocr.decoding.cpu.packed import PackedStep
from ocr.decoding.cpu.slots import Slots
from tests.ocr.tiny_reader import RandomReader


@pytest.fixture(scope="module")
def model() -> RandomReader:
    return RandomReader()


def prompt(length: int) -> torch.Tensor:
    return torch.randn(length, 64, generator=torch.Generator().manual_seed(length))


def test_random_logits_are_of_order_one(model: RandomReader) -> None:
    """Else the comparisons below would pass on nothing."""
    first, second = model.logits(prompt(9)), model.logits(prompt(10))
    assert 0.3 < first.std().item() < 3
    assert (first - second).abs().max().item() > 0.3


class Recomputed:
    """Rows as whole sequences, without any cache."""

    def __init__(self, model: RandomReader) -> None:
        self.model = model
        self.rows: list[torch.Tensor] = []

    def step(self, fed: list[list[int]]) -> torch.Tensor:
        return torch.stack(
            [
                self.model.logits(self.with_tokens(row, tokens[: count + 1]))
                for row, tokens in zip(self.rows, fed, strict=True)
                for count in range(len(tokens))
            ]
        )

    def with_tokens(self, row: torch.Tensor, tokens: list[int]) -> torch.Tensor:
        return torch.cat(
            (row, self.model.language_model.embed_tokens(torch.tensor(tokens, dtype=torch.long)))
        )

    def accept(self, fed: list[list[int]], counts: list[int]) -> None:
        self.rows = [
            self.with_tokens(row, tokens[:count])
            for row, tokens, count in zip(self.rows, fed, counts, strict=True)
        ]


@pytest.mark.parametrize("path", ["_row_by_row", "_together"])
@torch.inference_mode()
def test_rows_that_come_go_and_go_back_equal_recomputation(
    model: RandomReader, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over a growth of the slots (256 tokens), with every number of tokens fed and kept; both ways of attention."""
    monkeypatch.setattr(PackedStep, "attend", getattr(PackedStep, path))
    slots, plain = Slots(model), Recomputed(model)
    torch.testing.assert_close(
        slots.prefill(torch.stack([prompt(12), prompt(12).flip(0)])),
        torch.stack([model.logits(prompt(12)), model.logits(prompt(12).flip(0))]),
        atol=1e-4,
        rtol=0,
    )
    slots.prefill(prompt(250)[None])
    plain.rows = [prompt(12), prompt(12).flip(0), prompt(250)]

    def check(fed: list[list[int]], kept: list[int]) -> None:
        torch.testing.assert_close(slots.step(fed), plain.step(fed), atol=1e-4, rtol=0)
        slots.accept(kept)
        plain.accept(fed, kept)

    check([[5], [6, 7, 8, 9], [10, 11]], [1, 2, 2])
    check([[5], [6], [7]], [1, 1, 1])
    check([[5, 6, 7], [20], [8, 9, 10, 11, 12, 13]], [3, 1, 4])
    slots.release(0)
    plain.rows = [plain.rows[2], plain.rows[1]]
    check([[30, 31], [32, 33, 34]], [1, 1])
    slots.prefill(prompt(30)[None])
    plain.rows.append(prompt(30))
    check([[40], [41, 42], [43, 44, 45]], [1, 2, 3])
    slots.release(2)
    slots.release(0)
    plain.rows = [plain.rows[1]]
    check([[50, 51]], [2])
    assert slots.lengths == [len(plain.rows[0])]


@torch.inference_mode()
def test_what_is_taken_in_bytes(model: RandomReader) -> None:
    slots = Slots(model)
    of_a_token = 3 * 2 * 2 * 16 * 4  # layers, keys and values, heads, width, fp32
    assert slots.num_bytes(2, 300) == 2 * 512 * of_a_token
    slots.prefill(torch.stack([prompt(300)] * 2))
    held = [state for layer in slots._states if layer is not None for state in layer]
    assert sum(state.nbytes for state in held) == slots.num_bytes(2, 300)
    assert slots.num_bytes(1, 5) == 512 * of_a_token, "slots never get shorter while rows are left"
    slots.release(0)
    slots.release(0)
    assert slots.num_bytes(1, 5) == 256 * of_a_token


@torch.inference_mode()
def test_the_models_attention_is_left_as_it_was(model: RandomReader) -> None:
    before = model.language_model.config._attn_implementation
    slots = Slots(model)
    slots.prefill(prompt(5)[None])
    slots.step([[5]])
    assert model.language_model.config._attn_implementation == before


@torch.inference_mode()
def test_products_in_bfloat16_keep_keys_and_values_in_it_and_the_logits_close(model: RandomReader) -> None:
    mixed = RandomReader()
    multiply_in_bfloat16(mixed.language_model.layers)
    slots, exact = Slots(mixed), Slots(model)
    for each in (slots, exact):
        each.prefill(torch.stack([prompt(9)]))
    logits, wanted = slots.step([[5, 6, 7]]), exact.step([[5, 6, 7]])
    keys, values = slots.read(0, slice(0, 1), 4)
    assert keys.dtype == values.dtype == torch.bfloat16
    assert slots.num_bytes(1, 9) == exact.num_bytes(1, 9) // 2
    assert logits.dtype == torch.float32
    error = ((logits - wanted).norm() / wanted.norm()).item()
    assert 1e-5 < error < 5e-2

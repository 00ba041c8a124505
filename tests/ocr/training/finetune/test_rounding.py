"""Small changes survive eight bits on average, and what was rounded is stored as it is."""

from pathlib import Path

import pytest
import torch

from ocr.checkpoints import checkpoint
from ocr.int8 import expand, is_quantised, quantise
from ocr.training.finetune.rounding import round_by_chance
from tests.ocr.tiny import TINY, tiny_model, tiny_tokenizer


def test_a_small_change_survives_on_average() -> None:
    model = tiny_model()
    weight = model.get_parameter("encoder.sam_model.blocks.0.mlp.lin1.weight")
    start, scale = expand(*quantise(weight)), quantise(weight)[1].float()[:, None]
    changed = start.abs() < 120 * scale
    weight.copy_(start + 0.2 * scale * changed)
    nearest = expand(*quantise(weight))
    round_by_chance(model, seed=3)
    change = ((weight - start) / scale)[changed].mean().item()
    assert torch.equal(nearest, start)
    assert change == pytest.approx(0.2, abs=0.03)
    # No weight moves by a whole step of the grid.
    assert ((weight - start) / scale).abs().max() < 1.01


def test_storing_changes_nothing_more(tmp_path: Path) -> None:
    """Also for the experts, which are stored one by one."""
    model = tiny_model(TINY)
    before = {name: p.clone() for name, p in model.named_parameters()}
    round_by_chance(model)
    checkpoint.save(model, tmp_path, tokenizer=tiny_tokenizer(), int8=True)
    stored = checkpoint.load(str(tmp_path), device="cpu", dtype=torch.float32).model
    for name, p in model.named_parameters():
        if "experts" in name or is_quantised(name, p):
            torch.testing.assert_close(stored.get_parameter(name), p, atol=1e-6, rtol=1e-4, msg=name)
    moved = {name for name, p in model.named_parameters() if not torch.equal(before[name], p)}
    assert any("experts" in name for name in moved)
    assert not any("norm" in name or "rel_pos" in name for name in moved)

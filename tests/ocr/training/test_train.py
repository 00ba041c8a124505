"""The trainer on a CPU: a step moves every parameter, weights travel, and what was trained loads in production."""

import json
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer

from ocr.checkpoints import checkpoint
from ocr.model.deepseek_ocr import OcrModel
from ocr.training.package import package
from ocr.training.small import small_config
from ocr.training.tokens import CHARACTERS, SPECIAL
from ocr.training.train import arguments, load_weights, save_weights
from ocr.training.trainer.batch_inputs import make_rows, make_views
from ocr.training.trainer.objective import Objective, Weights, initialise
from ocr.training.trainer.rate_schedule import Schedule
from tests.ocr.training.trainer.test_batch_inputs import BOS, EOS, PROMPT, batch


@pytest.fixture(scope="module")
def model() -> OcrModel:
    made = OcrModel.from_config(small_config())
    initialise(made)
    return made


def test_every_parameter_learns(model: OcrModel, corpus: Path, tokenizer: Tokenizer, characters: str) -> None:
    made = batch(corpus, tokenizer, characters, "tile")
    objective = Objective(model, len(characters) + 2, Weights()).train()
    views = make_views(made, torch.device("cpu"), strength=1.0)
    loss, report = objective(views, make_rows(made, PROMPT, BOS, EOS))
    loss.backward()
    assert {"text", "acc", "guided", "patch", "patch_acc", "token"} == set(report)
    for name, parameter in objective.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0 or "position_embedding" in name, name
        parameter.grad = None


def test_the_shipped_shape_fits_its_budget(model: OcrModel) -> None:
    assert sum(p.numel() for p in model.parameters()) * 1.012 < 24 << 20


def test_weights_travel_in_shards_and_load_in_production(
    model: OcrModel, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    save_weights(model, tmp_path / "weights")
    assert len(list((tmp_path / "weights").glob("part-*.safetensors"))) > 1
    again = OcrModel.from_config(small_config())
    load_weights(again, tmp_path / "weights")
    for (name, a), b in zip(model.state_dict().items(), again.state_dict().values(), strict=True):
        torch.testing.assert_close(a, b, atol=0, rtol=2**-8, msg=name)

    (tmp_path / "characters.json").write_text(json.dumps(CHARACTERS))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    package(tmp_path / "weights", tmp_path, tmp_path / "shipped")
    assert (tmp_path / "shipped" / "model.safetensors").stat().st_size < 24 << 20
    loaded = checkpoint.load(str(tmp_path / "shipped"), device="cpu", dtype=torch.float32)
    assert (loaded.bos_id, loaded.eos_id) == (0, 1)
    assert loaded.image_token_id == SPECIAL.index("<image>")
    weight = loaded.model.language_model.layers[0].mlp.up_proj.weight
    torch.testing.assert_close(weight, model.language_model.layers[0].mlp.up_proj.weight, atol=2e-3, rtol=0)
    load_weights(again, tmp_path / "shipped")
    torch.testing.assert_close(again.language_model.layers[0].mlp.up_proj.weight, weight, atol=0, rtol=0)


def test_runs_of_a_leg_follow_the_schedule_of_the_whole() -> None:
    whole = Schedule(minutes=40, flat=0.45)
    parts = [
        Schedule(start=0, end=0.25, minutes=10, flat=0.45),
        Schedule(start=0.25, end=1, minutes=30, flat=0.45),
    ]
    for minute in range(41):
        part, within = (parts[0], minute) if minute < 10 else (parts[1], minute - 10)
        share = part.share(within)
        assert share == pytest.approx(whole.share(minute))
        assert part.factor(1000, share) == pytest.approx(whole.factor(1000, whole.share(minute)))
    assert parts[0].share(10) == 0.25
    assert parts[1].factor(1000, parts[1].share(30)) == 0


def test_every_run_warms_up_and_draws_its_own_pages() -> None:
    first = Schedule(start=0, end=0.5, minutes=10, flat=0.9)
    second = Schedule(start=0.5, end=1, minutes=10, flat=0.9)
    for run in (first, second):
        assert run.factor(0, run.share(0)) == pytest.approx(0.01)
        assert run.factor(49, run.share(0)) == pytest.approx(0.5)
        assert run.factor(99, run.share(0)) == 1
    assert first.seed(7) == 7
    assert second.seed(7) != 7


@pytest.mark.parametrize("span", [("0.5", "0.5"), ("-0.1", "1"), ("0.2", "1.1"), ("0.9", "0.1")])
def test_a_span_that_is_none_is_refused(span: tuple[str, str]) -> None:
    given = ["--data", "d", "--out", "o"]
    assert arguments(given).span == [0.0, 1.0]
    assert arguments(given).save_every == 6
    assert arguments([*given, "--span", "0.25", "0.5"]).span == [0.25, 0.5]
    with pytest.raises(SystemExit):
        arguments([*given, "--span", *span])

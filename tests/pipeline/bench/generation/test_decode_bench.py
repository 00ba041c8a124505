"""`ocrbatch bench decode`: all arms write the same, and the figures are of what they wrote."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from tokenizers.decoders import ByteLevel

from ocr.checkpoints import checkpoint
from ocr.decoding.gpu.reader import PagedReader
from ocr.decoding.gpu.schedule.entries import EngineSettings
from pipeline.bench.generation.decode_arms import EngineArm, GenerateArm, random_prompts
from pipeline.bench.random_model import random_loaded
from pipeline.cli.main import cli
from tests.ocr.saving import save
from tests.ocr.tiny import TINY, tiny_model, tiny_tokenizer

SAMPLES = Path(__file__).parents[3] / "samples"


def test_arms_agree_on_random_prompts(tmp_path: Path) -> None:
    save(tiny_model(), tmp_path / "tiny", tokenizer=tiny_tokenizer())
    output = tmp_path / "bench.json"
    result = CliRunner().invoke(
        cli,
        ["bench", "decode", "--model", str(tmp_path / "tiny"), "--device", "cpu", "--num-pages", "3",
         "--batch-size", "2", "--prompt-tokens", "30", "--max-new-tokens", "12", "--output-json", str(output)],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    found = json.loads(output.read_text())
    assert [arm["name"] for arm in found["arms"]] == ["generate", "engine"]
    assert found["prompt_tokens"] == [30, 30, 30]
    for arm in found["arms"]:
        assert arm["tokens"] == 36, "no page ends by itself"
        assert arm["pages_differ"] == 0
        assert arm["tokens_s"] == pytest.approx(36 / arm["wall_s"])
    assert "3 pages, 2 at once; prompts of 30 tokens" in result.output
    assert "engine: 0 of 3 pages differ from generate's" in result.output


def test_pages_end_at_their_end_of_text_and_pad_for_the_longer(tmp_path: Path) -> None:
    save(tiny_model(), tmp_path, tokenizer=tiny_tokenizer())
    loaded = checkpoint.load(str(tmp_path), device="cpu", dtype=torch.float32)
    pages = [*random_prompts(loaded, 2, 20), *random_prompts(loaded, 1, 33)]
    endless = EngineArm(replace(loaded, eos_id=95))(pages, 12)
    ending = replace(loaded, eos_id=endless[0][5])
    found = GenerateArm(ending)(pages, 12)
    assert found == EngineArm(ending)(pages, 12)
    assert found[0] == endless[0][: len(found[0])]
    assert len(found[0]) <= 5


def test_the_paged_engine_is_an_arm(tmp_path: Path) -> None:
    save(tiny_model(), tmp_path, tokenizer=tiny_tokenizer())
    loaded = checkpoint.load(str(tmp_path), device="cpu", dtype=torch.float32)
    loaded = replace(loaded, eos_id=TINY.language.vocab_size)
    pages = [*random_prompts(loaded, 2, 20), *random_prompts(loaded, 1, 33)]
    paged = PagedReader(loaded, EngineSettings(slots=2, max_tokens=64), loaded.prompt)
    expected = EngineArm(loaded)(pages, 12)
    assert EngineArm(loaded, paged=paged)(pages, 12) == expected


def test_random_weights_need_no_checkpoint() -> None:
    loaded = random_loaded(TINY, torch.device("cpu"), torch.float32)
    loaded = replace(loaded, eos_id=TINY.language.vocab_size)
    written = EngineArm(loaded)(random_prompts(loaded, 2, 20), 6)
    assert [len(tokens) for tokens in written] == [6, 6]
    assert written == GenerateArm(loaded)(random_prompts(loaded, 2, 20), 6)


def test_random_weights_write_words_and_lines_as_a_byte_level_vocabulary() -> None:
    tokenizer = random_loaded(TINY, torch.device("cpu"), torch.float32).tokenizer
    assert tokenizer.decode([11, 12, 13]) == " b\nc d"
    assert isinstance(tokenizer.decoder, ByteLevel), "else confidence takes 27 ms a page for token lengths"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--arms", "engine,magic"], "magic"),
        (["--arms", "paged", "--prompt-tokens", "20"], "leave it out of --arms"),
        (["--prompt-tokens", "2"], "--prompt-tokens"),
        (["--prompt-tokens", "9000"], "positions"),
        (["--pages", "tests/pipeline/bench"], "no page that can be read"),
    ],
)
def test_what_cannot_be_measured_is_refused(options: list[str], message: str, tmp_path: Path) -> None:
    save(tiny_model(), tmp_path, tokenizer=tiny_tokenizer())
    result = CliRunner().invoke(
        cli, ["bench", "decode", "--model", str(tmp_path), "--device", "cpu", *options]
    )
    assert message in str(result.exception)

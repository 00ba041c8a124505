"""Engines against transformers' generate: the differences that are told and allowed, and generate under our rules."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from encoders.types import VisionTokens
from ocr.checkpoints import checkpoint
from ocr.checkpoints.checkpoint import LoadedModel
from ocr.decoding.requests import PageRequest
from tests.benchmarks.tokens import equality
from tests.benchmarks.tokens.equality import Difference, Reading, first_difference, main, read, request_of
from tests.benchmarks.tokens.generate_reference import GenerateReference, Reference
from tests.ocr.tiny import tiny_model, tiny_tokenizer

EOS = 1
WANTED = Reference(
    tokens=[5, 6, 7], chosen=[5, 6, 7, EOS], finish="eos", gaps=[2.0, 0.0005, 3.0, 0.5], seconds=[9, 8, 9, 4]
)
CUT = Reference(tokens=[5, 6], chosen=[5, 6], finish="length", gaps=[2.0, 1.0], seconds=[9, 8])


def tiny_readings(dtype: torch.dtype = torch.float32) -> list[Reading]:
    """Returns four pages of 6 or 7 vision tokens."""
    generator = torch.Generator().manual_seed(0)
    drawn = [torch.randn(6 + page % 2, 64, generator=generator).to(dtype) for page in range(4)]
    return [
        Reading(name=f"p{page}", kind="pdf", vision=VisionTokens(tokens_TD=tokens, num_local=0, grid=(1, 1)))
        for page, tokens in enumerate(drawn)
    ]


@pytest.mark.parametrize(
    ("wanted", "tokens", "finish", "expected"),
    [
        (WANTED, (5, 6, 7), "eos", None),
        (WANTED, (5, 8, 7), "eos", (1, 6, 8, 0.0005, True)),
        (WANTED, (9, 6, 7), "eos", (0, 5, 9, 2.0, True)),
        (WANTED, (5, 6), "eos", (2, 7, EOS, 3.0, False)),
        (WANTED, (5, 6, 7, 4), "eos", (3, EOS, 4, 0.5, True)),
        (WANTED, (5, 6, 7), "loop", (3, EOS, None, 0.5, False)),
        (WANTED, (5, 6), "length", (2, 7, None, 3.0, False)),
        (CUT, (5, 6, 7), "length", (2, None, 7, None, False)),
    ],
)
def test_the_first_difference_and_how_close_it_was(
    wanted: Reference, tokens: tuple[int, ...], finish: str, expected: tuple[object, ...] | None
) -> None:
    found = first_difference(wanted, tokens, finish, EOS)
    names = ("position", "reference", "engine", "gap", "is_second")
    assert found == (None if expected is None else Difference(**dict(zip(names, expected, strict=True))))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    checkpoint.save(tiny_model(), folder, tokenizer=tiny_tokenizer())
    return folder


@pytest.fixture
def options(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(
        equality, "readings", lambda loaded, docs, pages: tiny_readings(loaded.model.dtype)[:pages]
    )
    return ["docs", "--model", str(tiny), "--pages", "4", "--cap", "12"]


def test_all_engines_write_what_generate_writes(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*options, "--slots", "3,1"]) == 0, capsys.readouterr().out
    told = capsys.readouterr().out
    assert told.startswith("4 pages, ")
    assert told.count("pages equal 4 of 4, differences not allowed 0") == 4


@pytest.mark.parametrize(("gap", "code"), [(0.5, 1), (0.0005, 0)])
def test_a_wrong_token_is_reported_and_allowed_where_the_choice_was_close(
    gap: float,
    code: int,
    options: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generate = GenerateReference.read

    def otherwise(self: GenerateReference, requests: list[PageRequest]) -> list[Reference]:
        found = generate(self, requests)
        if torch.equal(requests[0].vision.tokens_TD, tiny_readings()[1].vision.tokens_TD):
            found[0].tokens[3] = (found[0].tokens[3] + 1) % 60
            found[0].gaps[3] = gap
        return found

    monkeypatch.setattr(GenerateReference, "read", otherwise)
    assert main([*options, "--engines", "engine", "--slots", "1"]) == code
    told = capsys.readouterr().out
    assert f"pages equal 3 of 4, differences not allowed {code}" in told
    assert "p1: token 3 of 12" in told


def test_bf16_is_held_against_fp32(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main([*options, "--dtype", "bfloat16", "--engines", "engine", "--slots", "1"])
    assert "rounding moves the gap of the two likeliest tokens by" in capsys.readouterr().out


@pytest.fixture(scope="module")
def loaded(tiny: Path) -> LoadedModel:
    return checkpoint.load(str(tiny), device="cpu", dtype=torch.float32)


@pytest.fixture(scope="module")
def requests(loaded: LoadedModel) -> list[PageRequest]:
    """Returns requests with n-grams of two, so that the ban applies to nearly every choice of random weights."""
    asked = [request_of(loaded, page, 40) for page in tiny_readings()]
    return [
        replace(one, settings=replace(one.settings, ngram_size=2, ngram_window=20, loop_tokens=24))
        for one in asked
    ]


def test_generate_under_our_rules_writes_what_the_engine_writes(
    loaded: LoadedModel, requests: list[PageRequest]
) -> None:
    reference = GenerateReference(loaded)
    found = sorted(read("engine", loaded, requests, 2), key=lambda page: page.index)
    for request, page in zip(requests, found, strict=True):
        (wanted,) = reference.read([request])
        assert page.transcript.token_ids == tuple(wanted.tokens)
        assert page.transcript.finish == wanted.finish
        assert len(wanted.gaps) == len(wanted.seconds) == len(wanted.chosen)


def test_the_ban_shows(loaded: LoadedModel, requests: list[PageRequest]) -> None:
    reference = GenerateReference(loaded)
    free = replace(requests[0], settings=replace(requests[0].settings, ngram_size=0, loop_tokens=0))
    (banned,), (unbanned,) = reference.read(requests[:1]), reference.read([free])
    assert banned.tokens != unbanned.tokens
    pairs = list(zip(banned.chosen[:-1], banned.chosen[1:], strict=True))
    assert all(pair not in pairs[max(0, n - 18) : n] for n, pair in enumerate(pairs))


def test_pages_of_a_batch_are_read_as_alone(loaded: LoadedModel, requests: list[PageRequest]) -> None:
    reference = GenerateReference(loaded)
    for together, request in zip(reference.read(requests), requests, strict=True):
        (alone,) = reference.read([request])
        assert together.tokens == alone.tokens
        assert together.gaps == pytest.approx(alone.gaps, abs=1e-3)


def test_one_forward_gives_the_logits_that_tokens_were_chosen_from(
    loaded: LoadedModel, requests: list[PageRequest]
) -> None:
    reference = GenerateReference(loaded)
    (page,) = reference.read(requests[:1])
    logits_TV = reference.logits(requests[0], page.chosen)
    chosen, second = (
        logits_TV.gather(1, torch.tensor(tokens)[:, None])[:, 0] for tokens in (page.chosen, page.seconds)
    )
    assert (chosen - second).tolist() == pytest.approx(page.gaps, abs=1e-3)

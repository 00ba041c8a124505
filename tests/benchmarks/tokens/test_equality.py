import json
from pathlib import Path

import pytest

from tests.benchmarks.tokens import equality
from tests.benchmarks.tokens.equality import main
from tests.benchmarks.tokens.equality_findings import Difference, Findings, first_difference
from tests.benchmarks.tokens.generate_reference import Reference
from tests.benchmarks.tokens.tiny_readings import tiny_checkpoint, tiny_readings

EOS = 1
WANTED = Reference(
    tokens=[5, 6, 7], chosen=[5, 6, 7, EOS], finish="eos", gaps=[2.0, 0.0005, 3.0, 0.5], seconds=[9, 8, 9, 4]
)


def test_the_same_tokens_and_end_are_no_difference() -> None:
    assert first_difference(WANTED, (5, 6, 7), "eos", EOS) is None


def test_a_close_choice_may_come_out_otherwise() -> None:
    found = first_difference(WANTED, (5, 8, 7), "eos", EOS)
    assert found == Difference(position=1, reference=6, engine=8, gap=0.0005, is_second=True)
    assert found.is_allowed


def test_a_clear_choice_may_not() -> None:
    found = first_difference(WANTED, (9, 6, 7), "eos", EOS)
    assert found is not None
    assert found.is_second
    assert not found.is_allowed


@pytest.mark.parametrize(
    ("tokens", "finish", "position", "engine", "gap"),
    [
        ((5, 6), "eos", 2, EOS, 3.0),
        ((5, 6, 7, 4), "eos", 3, 4, 0.5),
        ((5, 6, 7), "loop", 3, None, 0.5),
        ((5, 6), "length", 2, None, 3.0),
    ],
)
def test_another_end_is_a_difference(
    tokens: tuple[int, ...], finish: str, position: int, engine: int | None, gap: float
) -> None:
    found = first_difference(WANTED, tokens, finish, EOS)
    assert found is not None
    assert (found.position, found.engine, found.gap) == (position, engine, gap)
    assert not found.is_allowed


def test_where_the_reference_chose_nothing_nothing_is_allowed() -> None:
    cut = Reference(tokens=[5, 6], chosen=[5, 6], finish="length", gaps=[2.0, 1.0], seconds=[9, 8])
    found = first_difference(cut, (5, 6, 7), "length", EOS)
    assert found == Difference(position=2, reference=None, engine=7, gap=None, is_second=False)
    assert not found.is_allowed


def test_findings_of_other_settings_are_not_gone_on_with(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    found = Findings(file, {"dtype": "float32"}, again=False)
    found.references["p"] = WANTED
    found.runs["engine@1"] = {"p": None, "q": first_difference(WANTED, (9,), "eos", EOS)}
    found.save(now=True)
    assert Findings(file, {"dtype": "float32"}, again=False).runs == found.runs
    later = Findings(file, {"dtype": "float32"}, again=True)
    assert (later.runs, later.references) == ({}, {"p": WANTED})
    with pytest.raises(SystemExit, match="name another file"):
        Findings(file, {"dtype": "bfloat16"}, again=False)


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(
        equality, "readings", lambda loaded, docs, pages: tiny_readings(loaded.model.dtype)[:pages]
    )
    return ["docs", "--model", str(tiny_checkpoint(tmp_path / "tiny")), "--pages", "4", "--cap", "12"]


def test_all_engines_write_what_generate_writes(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = str(tmp_path / "found.json")
    engines = ["--engines", "engine,paged,generate", "--slots", "3,1"]
    assert main([output, *options, *engines]) == 0, capsys.readouterr().out
    told = capsys.readouterr().out
    assert "\n4 pages, " in told
    assert "paged@3: pages equal 4 of 4, differences not allowed 0" in told
    runs = json.loads(Path(output).read_text())["runs"]
    assert len(runs) == 6
    assert all(list(run.values()) == [None] * 4 for run in runs.values())
    assert main([output, *options, "--engines", "engine", "--slots", "1"]) == 0
    assert "reference 1/" not in capsys.readouterr().out  # all of it was there


def test_a_wrong_token_is_reported(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "found.json"
    quick = [str(output), *options, "--engines", "engine", "--slots", "1"]
    assert main(quick) == 0
    found = json.loads(output.read_text())
    read = found["references"]["p1"]
    read["tokens"][3] = (read["tokens"][3] + 1) % 60
    read["gaps"][3] = 0.5
    output.write_text(json.dumps(found))
    capsys.readouterr()
    assert main([*quick, "--again"]) == 1
    told = capsys.readouterr().out
    assert "pages equal 3 of 4, differences not allowed 1" in told
    assert "p1: token 3 of 12" in told


def test_bf16_is_held_against_fp32(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = str(tmp_path / "found.json")
    main([output, *options, "--dtype", "bfloat16", "--engines", "engine", "--slots", "1"])
    assert "rounding moves the gap of the two likeliest tokens by" in capsys.readouterr().out

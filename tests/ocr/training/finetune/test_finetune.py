"""The whole command on a toy set: it learns, measures, packages what production loads, and refuses what is worse."""

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import torch
from PIL import Image

from ocr.model.deepseek_ocr import DEFAULT_PROMPT
from ocr.training.finetune import __main__ as finetune
from ocr.training.finetune.pairs import PairsError, find_pairs
from ocr.training.finetune.readings import Reading, read_pages, table, total_cer
from ocr.training.finetune.replay import replayed
from ocr.training.small import PROMPT
from ocr.transcript.confidence import Calibration, Curve
from tests.ocr.training.own_pages import CONFIG, load, write_model, write_pages


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pages(tmp_path_factory.mktemp("own") / "pages")


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # A model that is asked for markdown unless it is asked for plain text.
    folder = write_model(tmp_path_factory.mktemp("start"), replace(CONFIG, prompt=DEFAULT_PROMPT))
    curve = Curve(bias=1.0, weights={"unsure": 0.5})
    (folder / "confidence.json").write_text(json.dumps(Calibration(page=curve, block=curve).to_json()))
    return folder


def command(pages: Path, out: Path, start: Path, *more: str) -> int:
    argv = [str(pages), "--out", str(out), "--model", str(start), "--device", "cpu", *more]
    return finetune.run(finetune.arguments(argv))


@pytest.fixture(scope="module")
def tuned(pages: Path, start: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tuned") / "model"
    more = ["--epochs", "8", "--rate", "2e-2", "--hold-out", "0", "--augment", "0", "--batch", "1"]
    assert command(pages, out, start, *more) == 0
    return out


def test_it_learns_one_s_own_pages(tuned: Path, start: Path, pages: Path) -> None:
    facts = json.loads((tuned / "finetune.json").read_text())
    assert facts["last_loss"] < facts["first_loss"] / 3
    assert facts["cer_after"] < facts["cer_before"] / 2
    assert (facts["steps"], facts["pages"]) == (32, 32)
    # What is written is a complete model, and it reads as was said.
    assert {f.name for f in tuned.iterdir()} == {f.name for f in start.iterdir()} | {"finetune.json"}
    loaded = load(tuned)
    assert loaded.calibration == load(start).calibration is not None
    assert loaded.prompt == DEFAULT_PROMPT
    readings = read_pages(loaded, find_pairs(pages)[0], PROMPT, "read")
    assert total_cer(readings) == facts["cer_after"]


def test_the_characters_that_a_model_knows_come_along(start: Path, tmp_path: Path) -> None:
    (tmp_path / "characters.json").write_text('"abcd"')
    finetune.write(load(start), tmp_path, tmp_path / "out")
    assert (tmp_path / "out" / "characters.json").read_text() == '"abcd"'


def test_a_model_that_reads_worse_is_not_written(
    tuned: Path, pages: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "worse"
    spoil = ["--epochs", "1", "--rate", "10", "--hold-out", "0.25", "--augment", "0"]
    assert command(pages, out, tuned, *spoil) == finetune.WORSE
    assert "NOT written" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    assert command(pages, out, tuned, *spoil, "--keep-worse") == 0
    facts = json.loads((out / "finetune.json").read_text())
    assert facts["cer_after"] > facts["cer_before"]
    assert facts["kept_out"] == 1


def test_pages_are_split_without_overlap(pages: Path) -> None:
    pairs, _ = find_pairs(pages)
    for share, count in ((0.0, 0), (0.01, 1), (0.5, 2)):
        learnt, kept_out = finetune.split(pairs, share, seed=1)
        assert len(kept_out) == count
        assert {p.name for p in learnt} | {p.name for p in kept_out} == {p.name for p in pairs}
        assert len(learnt) + len(kept_out) == len(pairs)
    many = [replace(pairs[0], name=str(i)) for i in range(1000)]
    assert len(finetune.split(many, 0.5, seed=1)[1]) == finetune.MOST_HELD_OUT
    with pytest.raises(PairsError, match="--hold-out 0"):
        finetune.split(pairs[:1], 0.1, seed=1)


def test_what_cannot_be_learnt_is_counted(pages: Path, start: Path, tmp_path: Path) -> None:
    loaded = load(start)
    Image.effect_noise((200, 200), 90).save(tmp_path / "cut.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "cut.png").read_bytes()[:900])
    (tmp_path / "cut.txt").write_text("w1")
    pairs = [*find_pairs(pages)[0], *find_pairs(tmp_path)[0]]
    good, left_out = finetune.usable([*pairs, replace(pairs[0], name="long", text="w1 " * 31)], loaded, 30)
    assert [p.name for p in good] == [f"page{i}.png" for i in range(4)]
    assert [(item.name, item.reason.split("(")[0]) for item in left_out] == [
        ("cut.png", "cannot be decoded "),
        ("long", "more than 30 tokens of text; cut the page up or raise --max-text"),
    ]
    with pytest.raises(PairsError, match="no page is left"):
        finetune.usable(find_pairs(tmp_path)[0], loaded, 30)


def test_faults_are_told_before_any_work(pages: Path, start: Path, tmp_path: Path) -> None:
    with pytest.raises(PairsError, match="exists already"):
        command(pages, start, start)
    with pytest.raises(PairsError, match="put its text beside it"):
        command(tmp_path, tmp_path / "out", start)
    with pytest.raises(PairsError, match="is no training corpus"):
        command(pages, tmp_path / "out", start, "--replay", str(pages))
    for wrong in (["--batch", "0"], ["--hold-out", "0.9"], ["--minutes", "1", "--epochs", "2"]):
        with pytest.raises(SystemExit):
            finetune.arguments([str(pages), "--out", "x", *wrong])


def test_the_table_shows_every_page_of_a_few_and_the_changed_of_many() -> None:
    before = [Reading(name=f"p{i}", text="", num_edits=i, length=100) for i in range(30)]
    after = [replace(reading, num_edits=0) for reading in before]
    lines = table(before, after).splitlines()
    assert len(lines) == 23
    assert lines[1].split() == ["p29", "100", "29.00%", "0.00%"]
    assert "10 pages that changed less" in lines[-2]
    assert lines[-1].split() == ["all", "3000", "14.50%", "0.00%"]
    assert len(table(before[:3], after[:3]).splitlines()) == 5


def test_replay_draws_pages_of_the_corpus(corpus: Path, start: Path) -> None:
    pages = list(islice(replayed(corpus, load(start), seed=0), 6))
    for page in pages:
        columns, rows = page.grid
        assert page.tiles.shape == (columns * rows, 3, 640, 640)
        assert page.global_view.shape == (1, 3, 1024, 1024)
        assert page.tiles.dtype == page.global_view.dtype == torch.uint8
        assert page.ids
    # The model's own prompt asks for markdown, so it is practised as well.
    assert {page.prompt for page in pages} == {PROMPT, DEFAULT_PROMPT}

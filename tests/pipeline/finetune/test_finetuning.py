"""Further training by the command, with the shipped reader: what it learns, what it refuses, what it writes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from ocr.line_reader.reading import LineReader
from pipeline.cli.main import main
from pipeline.errors import ExitCode
from pipeline.evaluate import Edits
from pipeline.finetune import finetuning
from pipeline.finetune.finetuning import PreparedPage, prepare, read_pages, split, table
from pipeline.finetune.true_pages import FinetuneError, find_pages

# Nobody could know that these letters stand for others: they are told by the texts alone.
_LINES = ["Bonus motor room", "Tomorrow noon or soon", "Low roof over doors"]


def write_pages(folder: Path, count: int = 3) -> Path:
    """Writes pages whose o is a ø to their texts."""
    folder.mkdir()
    font = ImageFont.load_default(30)
    for number in range(count):
        picture = Image.new("L", (640, 320), 255)
        lines = [f"{line} {number}" for line in _LINES] * 2
        for row, line in enumerate(lines):
            ImageDraw.Draw(picture).text((30, 30 + 45 * row), line, 0, font=font)
        picture.save(folder / f"page{number}.png")
        (folder / f"page{number}.txt").write_text("\n".join(lines).replace("o", "ø"), encoding="utf-8")
    return folder


@pytest.mark.slow
def test_it_learns_one_s_own_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages, out = write_pages(tmp_path / "pages"), tmp_path / "model"
    options = ["--epochs", "12", "--rate", "1e-3", "--hold-out", "0.3", "--augment", "0", "--batch", "6"]
    assert main(["finetune", str(pages), "--out", str(out), *options]) == ExitCode.OK
    facts = json.loads((out / "finetune.json").read_text())
    assert (facts["started_from"], facts["kept_out"], facts["lines"]) == ("small", 1, 12)
    assert facts["cer_after"] < facts["cer_before"] / 2
    assert "written: " in capsys.readouterr().out
    # What is written is a whole model, and it reads as was said.
    prepared, _ = prepare(find_pages(pages)[0])
    [edits] = read_pages(LineReader.load(out / "lines"), split(prepared, 0.3, 0)[1], "")
    assert edits.rate == facts["cer_after"]
    assert main(["text", str(pages / "page0.png"), "--model", str(out)]) == ExitCode.OK
    assert "mø" in capsys.readouterr().out
    worse, spoil = tmp_path / "worse", ["--epochs", "1", "--rate", "1", "--hold-out", "0"]
    assert main(["finetune", str(pages), "--out", str(worse), *spoil]) == ExitCode.INCOMPLETE
    assert "NOT written" in capsys.readouterr().out
    # Weights that are no numbers are not written at all, also where no loss was told before.
    assert (
        main(["finetune", str(pages), "--out", str(worse), *spoil, "--rate", "10", "--keep-worse"])
        == ExitCode.FATAL
    )
    assert "weights are no numbers any more; lower --rate" in capsys.readouterr().err
    assert not worse.exists()


def test_pages_are_split_without_overlap(tmp_path: Path) -> None:
    pages, left_out = prepare(find_pages(write_pages(tmp_path / "pages", 4))[0])
    assert left_out == []
    for share, count in ((0.0, 0), (0.01, 1), (0.5, 2)):
        learnt, kept_out = split(pages, share, seed=1)
        assert len(kept_out) == count
        assert sorted(page.true.name for page in [*learnt, *kept_out]) == [page.true.name for page in pages]
    many = [replace(pages[0], true=replace(pages[0].true, name=str(n))) for n in range(1000)]
    assert len(split(many, 0.5, seed=1)[1]) == finetuning.MOST_HELD_OUT
    with pytest.raises(FinetuneError, match="--hold-out 0"):
        split(pages[:1], 0.1, seed=1)


def test_what_cannot_be_drawn_or_is_blank_is_left_out(tmp_path: Path) -> None:
    folder = write_pages(tmp_path / "pages", 1)
    Image.effect_noise((400, 400), 90).save(folder / "cut.png")
    (folder / "cut.png").write_bytes((folder / "cut.png").read_bytes()[:90_000])
    Image.new("L", (300, 300), 255).save(folder / "white.png")
    for name in ("cut", "white"):
        (folder / f"{name}.txt").write_text("text")
    prepared, left_out = prepare(find_pages(folder)[0])
    assert [page.true.name for page in prepared] == ["page0.png"]
    assert {item.name: item.reason.split(" (")[0] for item in left_out} == {
        "cut.png": "the page cannot be drawn",
        "white.png": "the page is blank: there is nothing to learn",
    }


def test_faults_are_told_before_any_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = write_pages(tmp_path / "pages", 1)
    for options, code, told in (
        (["--out", str(pages)], ExitCode.FATAL, "exists already"),
        (["--out", str(tmp_path / "out")], ExitCode.FATAL, "--hold-out 0"),
        (["--out", "x", "--from-db", "a.db"], ExitCode.USAGE, "a folder of pages and texts, or a database"),
        (["--out", "x", "--model", str(pages)], ExitCode.FATAL, "name a model that has one"),
        (["--out", "x", "--hold-out", "0.9"], ExitCode.USAGE, "0<=x<=0.5"),
    ):
        assert main(["finetune", str(pages), *options]) == code
        assert told in capsys.readouterr().err
    assert main(["finetune", "--out", "x"]) == ExitCode.USAGE


def test_the_table_shows_every_page_of_a_few_and_the_changed_of_many(tmp_path: Path) -> None:
    [page], _ = prepare(find_pages(write_pages(tmp_path / "pages", 1))[0])
    pages = [PreparedPage(true=replace(page.true, name=f"p{n}"), rendered=page.rendered) for n in range(30)]
    before = [Edits(num_edits=n, length=100) for n in range(30)]
    after = [replace(edits, num_edits=0) for edits in before]
    lines = list(table(pages, before, after))
    assert len(lines) == 23
    assert lines[1].split() == ["p29", "100", "29.00%", "0.00%"]
    assert "10 pages that changed less" in lines[-2]
    assert lines[-1].split() == ["all", "3000", "14.50%", "0.00%"]
    assert len(list(table(pages[:3], before[:3], after[:3]))) == 5

"""A few steps of the structure network's training: what it writes is read, and gone on from."""

import json
from pathlib import Path
from typing import Any

import pytest

from ocr.line_reader.structure_network import StructureNetwork
from ocr.training.structure import structure_batches, train
from ocr.training.structure.composed_lines import NAMES, line_pages, line_source
from ocr.training.structure.placed_lines import LinePage
from ocr.training.structure.structure_batches import tokens_of


def test_a_few_steps_are_written_and_gone_on_from(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = set[frozenset[str]]()

    def asked_for(*args: Any, genres: frozenset[str], **more: Any) -> list[LinePage]:
        asked.add(genres)
        return line_pages(*args, genres=genres, **more)

    monkeypatch.setattr(structure_batches, "line_pages", asked_for)
    options = f"--data {corpus} --steps 2 --workers 0 --held-pages 2 --pairs 9000 --muon --without law card"
    for out, more in (("a", "--width 32 --layers 1"), ("b", f"--weights {tmp_path}/a")):
        monkeypatch.setattr("sys.argv", f"train {tmp_path}/{out} {options} {more}".split())
        train.main()
        assert json.loads((tmp_path / out / "structure.json").read_text())["width"] == 32
    [page] = train.held_pages(line_source(corpus, "valid"), 1)[:1]
    roles, pairs = StructureNetwork(tmp_path / "b").logits(tokens_of(page))
    assert (len(roles), pairs.shape[1:]) == (len(page.lines), (len(page.lines),) * 2)
    assert asked == {NAMES - {"law", "card"}}
    told = capsys.readouterr().out
    assert told.count("done: 2 steps, HELD OUT moved=") == 2
    assert "at the start, HELD OUT" in told

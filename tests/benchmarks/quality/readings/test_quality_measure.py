"""Costs include child processes, Tesseract's answers are cached, databases are scored, missing pages count."""

import json
import os
import sys
from pathlib import Path

import pytest
from PIL import Image

from storage.records.store import Store
from tests.benchmarks.quality.readings import costs
from tests.benchmarks.quality.readings.engines import stored, tesseract
from tests.benchmarks.quality.readings.measure import Options, measure, spread
from tests.benchmarks.quality.readings.report import calibration_error
from tests.benchmarks.quality.sets.layout import QualityError
from tests.storage.sample_records import SETTINGS, a_file, a_page, a_run

_BURN = "import time; end = time.process_time() + 0.4\nwhile time.process_time() < end: pass"
_PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {_BURN!r}]); print('done')"


def test_cpu_seconds_are_those_of_the_whole_family(tmp_path: Path) -> None:
    finished = costs.run([sys.executable, "-c", _PARENT], {}, tmp_path)
    assert (finished.returncode, finished.stdout.strip()) == (0, "done")
    assert finished.cost.cpu_s >= 0.4
    assert finished.cost.wall_s >= 0.4


@pytest.fixture
def quality_set(tmp_path: Path) -> Path:
    folder = tmp_path / "set"
    pages = {"prose-a-1": "some text", "code-b-2": "x = 1", "empty-c-1": ""}
    (folder / "digital").mkdir(parents=True)
    for number, (name, text) in enumerate(pages.items()):
        (folder / "truth" / f"{name}.png").mkdir(parents=True)
        (folder / "truth" / f"{name}.png" / "1.txt").write_text(text, encoding="utf-8")
        Image.new("L", (8, 8 + number), 255).save(folder / "digital" / f"{name}.png")
    categories = {name: {"category": name.split("-")[0]} for name in pages}
    (folder / "manifest.json").write_text(json.dumps({"pages": categories}), encoding="utf-8")
    return folder


@pytest.fixture
def fake_tesseract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a `tesseract` that reads "some text" on every page and counts its calls in a file."""
    program, calls = tmp_path / "bin" / "tesseract", tmp_path / "calls"
    program.parent.mkdir()
    answer = f'echo "$OMP_THREAD_LIMIT" >> {calls}; echo "some text"'
    program.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then echo "tesseract 5"; else {answer}; fi\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return calls


def test_tesseract_is_scored_and_its_answers_are_kept(
    quality_set: Path, fake_tesseract: Path, tmp_path: Path
) -> None:
    options = Options(sets=("digital",), stored={}, cache=tmp_path / "cache")
    first = measure(quality_set, "digital", "tesseract", options)
    again = measure(quality_set, "digital", "tesseract", options)
    assert fake_tesseract.read_text().split() == ["1", "1", "1"]  # one thread each, and not once more
    assert {row.category: row.cer for row in first.summary.rows}["prose"] == 0.0
    assert again.summary == first.summary


def test_a_missing_tesseract_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(QualityError, match="apt-get install"):
        tesseract([])


def test_a_database_is_scored_and_pages_it_lacks_count_as_empty(quality_set: Path, tmp_path: Path) -> None:
    database = tmp_path / "read.db"
    with Store(database) as store:
        run_id = store.start_run(a_run())
        store.record_file(run_id, a_file("elsewhere/digital/prose-a-1.png", kind="image", num_pages=1))
        store.record_page(run_id, a_page("some text", settings_hash=SETTINGS, confidence=0.75))
    assert stored(database).pages["prose-a-1"].confidence == 0.75
    options = Options(sets=("digital",), stored={"digital": database})
    result = measure(quality_set, "digital", "ocrbatch", options)
    rows = {row.category: row for row in result.summary.rows}
    assert (rows["prose"].cer, rows["code"].cer) == (0.0, 1.0)
    assert result.num_missing == 2
    assert calibration_error(result.scores) == pytest.approx(0.25)


def test_a_limit_is_spread_over_the_set() -> None:
    pages = [Path(f"{number}.png") for number in range(10)]
    assert spread(pages, 5) == pages[::2]
    assert spread(pages, None) == spread(pages, 99) == pages


def test_a_set_that_was_not_built_is_explained(tmp_path: Path) -> None:
    with pytest.raises(QualityError, match="build"):
        measure(tmp_path, "digital", "tesseract", Options(sets=("digital",), stored={}))

"""The overlap of evaluation and training is found in packages, their sources, typefaces and texts, and only there."""

import json
from pathlib import Path
from typing import Any

import pytest

from ocr.training.corpus.packages import CorpusError, refuse_excluded
from tests.benchmarks.quality.sets.unseen import build, overlap
from tests.benchmarks.quality.sets.unseen.overlap import Overlap, compare, trained

_TEXT = " ".join(f"word{number}" for number in range(60))
_BLANK = {"package": "", "source_package": "", "repository": "", "families": []}


@pytest.fixture
def evaluation(tmp_path: Path) -> Path:
    """Returns a set of three pages: of a package, of a repository, and composed."""
    pages: dict[str, dict[str, Any]] = {
        "manual-000": {**_BLANK, "category": "manual", "package": "unheard-doc", "source_package": "unheard"},
        "typescript-000": {**_BLANK, "category": "typescript", "repository": "some/where"},
        "receipt-000": {**_BLANK, "category": "receipt", "families": ["Rare Sans"]},
    }
    folder = tmp_path / "set"
    for number, name in enumerate(pages):
        (folder / "truth" / f"{name}.png").mkdir(parents=True)
        (folder / "truth" / f"{name}.png" / "1.txt").write_text(
            f"{_TEXT} {number}" if number else "Another page"
        )
    (folder / "manifest.json").write_text(json.dumps({"pages": pages}))
    return folder


@pytest.fixture(autouse=True)
def debian(monkeypatch: pytest.MonkeyPatch) -> None:
    built = {"unheard-doc": "unheard", "unheard-utils": "unheard"}
    monkeypatch.setattr(
        overlap, "source_packages", lambda names: {name: built.get(name, name) for name in names}
    )


def _found(folder: Path, tmp_path: Path, **listed: dict[str, Any]) -> dict[str, Overlap]:
    file = tmp_path / "training_data.json"
    file.write_text(json.dumps(listed))
    return {entry.source: entry for entry in compare(folder, trained([file]))}


def test_nothing_in_common_is_no_overlap(evaluation: Path, tmp_path: Path) -> None:
    assert not any(entry.bad for entry in _found(evaluation, tmp_path, pdfs={"other-doc": "1"}).values())


def test_a_planted_package_is_found(evaluation: Path, tmp_path: Path) -> None:
    assert _found(evaluation, tmp_path, pdfs={"unheard-doc": "1"})["unheard-doc"].package


def test_a_planted_package_of_the_same_source_is_found(evaluation: Path, tmp_path: Path) -> None:
    entry = _found(evaluation, tmp_path, text={"unheard-utils": "1"})["unheard-doc"]
    assert (entry.package, entry.source_package, entry.bad) == (False, True, True)


def test_a_shared_repository_is_said_but_its_texts_decide(evaluation: Path, tmp_path: Path) -> None:
    entry = _found(evaluation, tmp_path, scans={"some/where": {}})["some/where"]
    assert (entry.repository, entry.bad) == (True, False)


def test_planted_text_and_typefaces_are_found(evaluation: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    (corpus / "text").mkdir(parents=True)
    (corpus / "text" / "en.txt").write_text(f"Before. {_TEXT.upper()}, after.")
    (corpus / "fonts").mkdir()
    (corpus / "fonts" / "index.json").write_text(json.dumps([{"family": "Rare Sans"}]))
    found = {entry.source: entry for entry in compare(evaluation, trained([corpus]))}
    assert found["some/where"].shared["typescript-000"] > 0.9
    assert found["composed: receipt"].families == ("Rare Sans",)
    assert not found["unheard-doc"].bad
    assert any("**some/where**" in line for line in overlap.lines(found.values()))


def test_the_packages_of_the_set_are_in_no_corpus_and_cannot_enter_one() -> None:
    known = trained([])
    assert not set(build.packages()) & known.packages
    for name in build.packages():
        with pytest.raises(CorpusError, match=name):
            refuse_excluded([name])
    assert not {face.family for face in build.faces.load()} & known.families

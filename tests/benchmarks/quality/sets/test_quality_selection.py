"""The committed table keeps its promises, and none of its documents can enter training."""

from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest
import yaml

from ocr.training.corpus.packages import CorpusError, refuse_excluded
from tests.benchmarks.quality.sets.selection import CATEGORIES, EMPTY, QualityError, load

_SELECTION = load()


def test_the_set_is_large_and_varied() -> None:
    counts = Counter(page.category for page in _SELECTION.text)
    assert len(_SELECTION.text) >= 72
    assert len(_SELECTION.documents) >= 18
    assert set(counts) == set(CATEGORIES) - {EMPTY}
    assert min(counts.values()) >= 6
    assert len(_SELECTION.empty) >= 12


@pytest.mark.parametrize("package", sorted({page.package for page in _SELECTION.text}))
def test_packages_with_text_are_refused_by_the_corpus(package: str) -> None:
    with pytest.raises(CorpusError, match="evaluation set"):
        refuse_excluded([package])


def test_no_corpus_table_names_a_package_of_the_set() -> None:
    for table in files("ocr.training").iterdir():
        if table.name.endswith(".yaml"):
            words = set(table.read_text(encoding="utf-8").replace(":", " ").replace(",", " ").split())
            assert not words & set(_SELECTION.packages), table.name


def test_a_name_leads_to_one_page_only(tmp_path: Path) -> None:
    table = tmp_path / "pages.yaml"
    entries = {
        "roots": {"a": "x/", "b": "y/"},
        "text": {"prose": ["a/one.pdf:3", "b/one.pdf:3"]},
        "empty": [],
    }
    table.write_text(yaml.safe_dump(entries), encoding="utf-8")
    with pytest.raises(QualityError, match="prose-one-3"):
        load(table)


def test_an_unknown_category_is_named(tmp_path: Path) -> None:
    table = tmp_path / "pages.yaml"
    entries = {"roots": {"a": "x/"}, "text": {"poetry": ["a/one.pdf:3"]}, "empty": []}
    table.write_text(yaml.safe_dump(entries), encoding="utf-8")
    with pytest.raises(QualityError, match="poetry"):
        load(table)

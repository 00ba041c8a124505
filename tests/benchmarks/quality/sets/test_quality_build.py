"""A set is built from packages that are already unpacked: pictures, truth, and the same again."""

import json
from pathlib import Path

import pymupdf
import pytest
from PIL import Image

from ocr.training.corpus.packages import Package
from pipeline.evaluate import read_truth
from tests.benchmarks.quality.sets import build as module
from tests.benchmarks.quality.sets import empty
from tests.benchmarks.quality.sets.build import SETS, build
from tests.benchmarks.quality.sets.selection import EmptyPage, QualityError, Selection, TextPage


@pytest.fixture
def selection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Selection:
    root = tmp_path / "package"
    root.mkdir()
    with pymupdf.open() as document:
        document.new_page(width=200, height=100).insert_text((20, 40), "first page")
        document.new_page(width=200, height=100).insert_text((20, 40), "Déjà vu", color=(1, 0, 0))
        document.save(root / "doc.pdf")
    Image.new("RGB", (40, 30), (10, 90, 10)).save(root / "grass.png")

    def downloaded(names: tuple[str, ...], cache: Path) -> dict[str, Package]:
        return {name: Package(name=name, version="1", licence="GPL", root=root) for name in names}

    monkeypatch.setattr(module, "download", downloaded)
    monkeypatch.setattr(empty, "A4_IN", (2.0, 3.0))
    return Selection(
        text=(
            TextPage(category="prose", package="p", document="doc.pdf", page=1),
            TextPage(category="accented", package="p", document="doc.pdf", page=2),
        ),
        empty=(
            EmptyPage(title="specks", kind="specks"),
            EmptyPage(title="photo", kind="full-bleed", package="p", file="grass.png"),
        ),
    )


def test_every_set_holds_every_page_and_the_truth_is_found(selection: Selection, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    assert build(selection, folder, tmp_path) == 4
    names = {"prose-doc-1", "accented-doc-2", "empty-specks-1", "empty-photo-1"}
    for part in SETS:
        assert {path.stem for path in (folder / part).iterdir()} == names
    truth = {key: path.read_text(encoding="utf-8") for key, path in read_truth(folder / "truth").items()}
    assert truth[("accented-doc-2.png", 1)] == "Déjà vu"
    assert truth[("empty-photo-1.png", 1)] == ""
    assert len(truth) == 4


def test_pictures_have_their_resolution_and_no_needless_colour(selection: Selection, tmp_path: Path) -> None:
    build(selection, tmp_path / "set", tmp_path)
    for part, dpi in (("200dpi", 200), ("150dpi", 150), ("degraded", 200)):
        with Image.open(tmp_path / "set" / part / "prose-doc-1.png") as page:
            assert page.info["dpi"] == pytest.approx((dpi, dpi), abs=0.1)
            assert page.width == pytest.approx(200 / 72 * dpi, abs=2)
            assert page.mode == "L"
    with Image.open(tmp_path / "set" / "200dpi" / "accented-doc-2.png") as page:
        assert page.mode == "RGB"


def test_a_second_build_is_the_same(selection: Selection, tmp_path: Path) -> None:
    build(selection, tmp_path / "one", tmp_path)
    build(selection, tmp_path / "two", tmp_path)
    files = [path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file()]
    assert len(files) == 4 * len(SETS) + 4 + 1
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_the_manifest_says_what_was_done_to_a_page(selection: Selection, tmp_path: Path) -> None:
    build(selection, tmp_path / "set", tmp_path)
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
    assert manifest["packages"] == {"p": "1"}
    assert manifest["pages"]["prose-doc-1"]["category"] == "prose"
    assert all(1 <= len(page["degraded"]) <= 2 for page in manifest["pages"].values())


def test_a_page_that_is_not_there_is_an_error(selection: Selection, tmp_path: Path) -> None:
    page = TextPage(category="prose", package="p", document="doc.pdf", page=3)
    with pytest.raises(QualityError, match="no page 3"):
        build(Selection(text=(page,), empty=()), tmp_path / "set", tmp_path)

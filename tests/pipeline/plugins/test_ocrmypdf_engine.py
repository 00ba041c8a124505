"""The engine inside the real OCRmyPDF; skipped where that is not installed."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pymupdf
import pytest

pytest.importorskip("ocrmypdf.hocrtransform", reason="the extra ocrmypdf is not installed")

from ocrmypdf.hocrtransform import HocrParser

from ocr.orientation.detect import Orientation
from pipeline.api.page_text import PageText, Word
from pipeline.plugins.ocrmypdf_engine import OcrbatchEngine, get_ocr_engine, lines_of, tree

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "tests" / "samples"


def page(text: str, *words: Word) -> PageText:
    return PageText(
        path="a.png", number=2, status="ok", text=text, markdown="", words=words, width_px=90, height_px=40,
        dpi=72,
    )  # fmt: skip


def test_words_without_a_place_join_the_one_beside_them() -> None:
    here, there = (5, 5, 20, 15), (30, 6, 50, 16)
    words = (
        Word(text="a"),
        Word(text="b", box=here),
        Word(text="c"),
        Word(text="d"),
        Word(text="e", box=there),
    )
    lines = list(lines_of(page("a b c\nd\ne", *words)))
    assert [[word.text for word in line] for line in lines] == [["a b c"], ["e"]]
    made = tree(page("a b c\nd\ne", *words))
    assert (made.page_number, made.bbox.right, made.bbox.bottom) == (1, 90, 40)
    assert [(line.bbox.left, line.bbox.top) for line in made.lines] == [(5, 5), (30, 6)]
    assert [word.text for word in made.words] == ["a b c", "e"]
    assert tree(page("")).children == []


def test_it_is_the_engine_only_where_it_was_asked_for() -> None:
    class Options:
        ocr_engine = "auto"

    assert get_ocr_engine(Options) is None
    Options.ocr_engine = "ocrbatch"
    assert isinstance(get_ocr_engine(Options), OcrbatchEngine)


def ocrmypdf(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    plugin = ["--plugin", "pipeline.plugins.ocrmypdf_engine"] if not is_found_by_itself() else []
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "ocrmypdf",
            *plugin,
            "--ocr-engine",
            "ocrbatch",
            "--jobs",
            "1",
            *map(str, arguments),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
    )


def is_found_by_itself() -> bool:
    from importlib.metadata import entry_points

    return any(entry.name == "ocrbatch" for entry in entry_points(group="ocrmypdf"))


@pytest.mark.slow
@pytest.mark.parametrize("way", [90, 180, 270])
def test_a_page_on_its_side_that_stays_so_has_its_words_where_they_stand(way: int, tmp_path: Path) -> None:
    truth = pymupdf.open(SAMPLES / "two-column.pdf")[0]
    wide, high = truth.rect.width, truth.rect.height
    scan = pymupdf.open()
    sheet = scan.new_page(width=wide if way == 180 else high, height=high if way == 180 else wide)
    sheet.insert_image(sheet.rect, stream=truth.get_pixmap(dpi=200).tobytes("png"), rotate=way)
    scan.save(tmp_path / "in.pdf")
    done = ocrmypdf("--output-type", "pdf", tmp_path / "in.pdf", tmp_path / "out.pdf")
    assert done.returncode == 0, done.stderr
    found: dict[str, list[tuple[float, float]]] = {}
    for x0, y0, x1, y1, text, *_ in pymupdf.open(tmp_path / "out.pdf")[0].get_text("words"):
        found.setdefault(text, []).append(((x0 + x1) / 2, (y0 + y1) / 2))
    words = truth.get_text("words")
    near = 0
    for x0, y0, x1, y1, text, *_ in words:
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
        there = {90: (y, wide - x), 180: (wide - x, high - y), 270: (high - y, x)}[way]
        near += any(abs(there[0] - a) < 8 and abs(there[1] - b) < 8 for a, b in found.get(text, []))
    assert near > 0.95 * len(words)


def test_what_has_no_effect_and_what_it_cannot_read_is_told(tmp_path: Path) -> None:
    options = ("-l", "deu+rus", "--tesseract-timeout", "5")
    done = ocrmypdf(*options, SAMPLES / "scanned.pdf", tmp_path / "out.pdf")
    assert done.returncode == 0, done.stderr
    assert "cannot read rus" in done.stderr
    assert "--tesseract-timeout has no effect" in done.stderr


def test_with_a_time_out_of_0_nothing_is_read_and_pages_can_be_turned(tmp_path: Path) -> None:
    options = SimpleNamespace(tesseract=SimpleNamespace(timeout=0))
    assert OcrbatchEngine.generate_ocr(SAMPLES / "letter.png", options) == (None, "")
    OcrbatchEngine.generate_hocr(SAMPLES / "letter.png", tmp_path / "a.hocr", tmp_path / "a.txt", options)
    assert not HocrParser(tmp_path / "a.hocr").parse().children
    assert OcrbatchEngine.get_orientation(SAMPLES / "letter.png", options).angle == 0


def test_an_orientation_in_doubt_is_handed_on_with_less_confidence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A lower --rotate-pages-threshold turns such pages."""
    for found, angle, sure in (
        (Orientation(angle_deg=90), 270, 15.0),
        (Orientation(runner_up_deg=90), 270, 5.0),
        (Orientation(), 0, 15.0),
    ):
        monkeypatch.setattr("pipeline.api.image_reader.detect", lambda pixels, its=found: its)
        told = OcrbatchEngine.get_orientation(SAMPLES / "letter.png", None)
        assert (told.angle, told.confidence) == (angle, sure)


def test_a_scan_gets_a_text_layer_at_its_words_and_a_turned_one_is_turned(tmp_path: Path) -> None:
    truth = pymupdf.open(SAMPLES / "two-column.pdf")[0]
    source, result = tmp_path / "in.pdf", tmp_path / "out.pdf"
    scan = pymupdf.open()
    # On its side: upright after --rotate-pages.
    sheet = scan.new_page(width=truth.rect.height, height=truth.rect.width)
    sheet.insert_image(sheet.rect, stream=truth.get_pixmap(dpi=200).tobytes("png"), rotate=90)
    scan.save(source)
    done = ocrmypdf("--rotate-pages", source, result)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[tuple[float, float]]] = {}
    for x0, y0, _, _, text, *_ in pymupdf.open(result)[0].get_text("words"):
        found.setdefault(text, []).append((x0, y0))
    words = truth.get_text("words")
    near = [
        word
        for word in words
        if any(abs(word[0] - x) < 4 and abs(word[1] - y) < 8 for x, y in found.get(word[4], []))
    ]
    assert len(near) > 0.95 * len(words)


def test_tesseracts_renderer_gives_the_usual_text_layer_and_is_told(tmp_path: Path) -> None:
    done = ocrmypdf("--pdf-renderer", "sandwich", SAMPLES / "scanned.pdf", tmp_path / "out.pdf")
    assert done.returncode == 0, done.stderr
    assert "sandwich has no effect" in done.stderr
    assert pymupdf.open(tmp_path / "out.pdf")[0].get_text("words")


def test_ocrmypdf_reads_back_what_it_writes_as_hocr(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    words = (Word(text="a<b", box=(5, 5, 20, 15), confidence=0.5), Word(text="é", box=(30, 6, 50, 16)))
    read = dataclasses.replace(page("a<b\né", *words), rotation_deg=90)
    monkeypatch.setattr(OcrbatchEngine, "generate_ocr", staticmethod(lambda *given: (tree(read), read.text)))
    OcrbatchEngine.generate_hocr(Path("a.png"), tmp_path / "a.hocr", tmp_path / "a.txt", None)
    found = HocrParser(tmp_path / "a.hocr").parse()
    assert (tmp_path / "a.txt").read_text() == read.text
    assert (found.dpi, found.bbox) == (72, tree(read).bbox)
    assert [(line.bbox, line.textangle) for line in found.lines] == [
        (line.bbox, 90.0) for line in tree(read).lines
    ]
    assert [(word.text, word.bbox, word.confidence) for word in found.words] == [
        (word.text, word.bbox, word.confidence) for word in tree(read).words
    ]

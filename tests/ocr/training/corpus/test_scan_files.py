"""Scans get the places a finder sees and the texts of their transcriptions; the evaluation's documents stay out."""

import io
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from ocr.line_reader.reading import LineReader
from ocr.model_files.locate import SHIPPED, find_directory
from ocr.training.corpus.packages import CorpusError
from ocr.training.corpus.scan_files import ScanSource, build_scans, load_scan_sources
from ocr.training.corpus.scan_lines import TranscribedLine, placed
from ocr.training.lines.scan_pages import Scans
from tests.ocr.training.lines.printed_lines import printed

LINES = [
    ("The quick brown fox jumps over", 60, 100, 34),
    ("the lazy dog and runs away", 60, 160, 34),
    ("as far as its legs will", 60, 220, 34),
    ("carry it, and then rests", 60, 280, 34),
]
PRINTED = printed(LINES, (384, 768))


@pytest.fixture(scope="module")
def reader() -> LineReader:
    return LineReader.load(find_directory(SHIPPED) / "lines")


def transcribed(text: str, x0: float, y: float, x1: float) -> TranscribedLine:
    return TranscribedLine(text=text, baseline=np.asarray([(x0, y), (x1, y)], np.float64))


def test_lines_stand_where_the_finder_sees_them(reader: LineReader) -> None:
    given = [
        transcribed(text, x0 - 5, baseline + 4, x1 + 5)
        for (text, *_), (x0, x1, baseline, *_) in zip(LINES, PRINTED.places.tolist(), strict=True)
    ]
    found = placed(PRINTED.pixels, given, reader, handwriting=False)
    assert [line.kind for line in found] == ["text"] * 4
    for line, (_, x0, baseline, size) in zip(found, LINES, strict=True):
        assert abs(line.place.baseline - baseline) < 3
        assert abs(line.place.x0 - x0) < 14
        assert 0.7 < line.place.size / size < 1.4


def test_another_line_s_text_is_unsure_and_an_untold_line_too(reader: LineReader) -> None:
    _, x1, *_ = PRINTED.places[0].tolist()
    found = placed(PRINTED.pixels, [transcribed("WXYZ 0123456789", 60, 100, x1)], reader, handwriting=False)
    assert [line.kind for line in found] == ["unsure"] * 4


def test_white_parts_a_line(reader: LineReader) -> None:
    page = printed([("one of them", 60, 100, 34), ("the other", 560, 100, 34)], (192, 960))
    (line,) = placed(
        page.pixels, [transcribed("one of them the other", 60, 100, 720)], reader, handwriting=False
    )
    assert line.kind == "parted"


def test_among_handwriting_what_is_not_read_for_sure_is_handwriting(
    reader: LineReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = LineReader.read
    # Lines that are neither found nor read for sure are left out of what is read.
    monkeypatch.setattr(LineReader, "read", lambda self, page, lines: read(self, page, lines)[1:])
    found = placed(PRINTED.pixels, [], reader, handwriting=True)
    assert [line.kind for line in found] == ["hand", "unsure", "unsure", "unsure"]


def test_no_document_of_the_evaluation_is_trained_on() -> None:
    table = Path("tests/benchmarks/quality/sets/unseen/scans.yaml")
    sources = {source.repository: source for source in load_scan_sources()}
    for entry in yaml.safe_load(table.read_text(encoding="utf-8"))["sources"]:
        source = sources.get(entry["repository"])
        for document in entry["pages"] if source else ():
            assert not source.takes(document + "/a_page.xml"), document
    assert sources["HTR-United/tapuscorpus"].takes("data/12148-btv1b10581912k/16_7e494_default.xml")


def test_a_repository_becomes_pages_to_learn_from(tmp_path: Path, reader: LineReader) -> None:
    work, picture = tmp_path / "mirrors" / "a+b" / "repo", io.BytesIO()
    Image.fromarray(PRINTED.pixels).save(picture, "PNG")
    xml = "".join(
        f'<TextLine BASELINE="{x0:.0f} {y:.0f} {x1:.0f} {y:.0f}"><String CONTENT="{text}"/></TextLine>'
        for (text, *_), (x0, x1, y, *_) in zip(LINES, PRINTED.places.tolist(), strict=True)
    )
    for name in ("data/kept", "data/shown", "data/late"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / f"{name}.png").write_bytes(picture.getvalue())
        (work / f"{name}.xml").write_text(f"<alto>{xml}</alto>")
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "pages"]):
        subprocess.run(["git", "-C", str(work), *command], check=True)
    source = ScanSource(
        repository="a/b", commit="HEAD", licence="CC0", kind="print", most=9, kept_out=("data/kept",)
    )
    told = build_scans([source], tmp_path / "mirrors", tmp_path / "scans", reader)
    assert told == {"a/b": {"commit": "HEAD", "licence": "CC0", "pages": 2}}
    index = json.loads((tmp_path / "scans" / "index.json").read_text())
    assert [entry["source"] for entry in index] == ["a/b:data/late.xml", "a/b:data/shown.xml"]
    (scan, _) = Scans(tmp_path / "scans", "train").printed
    with Image.open(scan.file) as stored:
        factor = stored.width / PRINTED.pixels.shape[1]
    assert factor < 1
    assert abs(scan.lines[0][0].baseline - factor * 100) < 3
    with pytest.raises(CorpusError, match="lacks"):
        build_scans([source], tmp_path, tmp_path / "none", reader)

import zipfile
from pathlib import Path

import pymupdf

from tests.benchmarks.quality.languages import Figures, drawn, having, sentences, worn


def test_messages_are_whole_and_without_markup(tmp_path: Path) -> None:
    messages = (
        "# x\nfirst = Bu bir ileti,\n    iki satır uzunluğunda\n"
        "second =\n    .label = Yer imleri araç çubuğunu göster\n"
        "third = { $count } dosya indiriliyor ve açılıyor\nfourth = Kısa\n"
    )
    with zipfile.ZipFile(tmp_path / "tr.xpi", "w") as bundle:
        bundle.writestr("browser.ftl", messages)
    assert sentences(tmp_path) == ["Bu bir ileti, iki satır uzunluğunda", "Yer imleri araç çubuğunu göster"]


def test_a_page_has_the_lines_that_it_tells() -> None:
    pixels, lines = drawn(iter(["Tom dix mille seigle", "漢字"] * 400), pymupdf.Font("tiro"), 12)
    assert pixels.min() < 60
    assert len(lines) > 25
    assert all(len(line) > 40 for line in lines)
    assert worn(pixels, 1).shape == pixels.shape


def test_letters_taken_for_others_are_told(tmp_path: Path) -> None:
    figures = Figures()
    figures.add("ilik agaç…", "ılık ağaç...")
    assert (figures.edits, figures.characters, figures.right, figures.words) == (3, 12, 0, 2)
    assert figures.taken == {"ı→i": 2, "ğ→g": 1}
    (tmp_path / "a.otf").write_bytes(pymupdf.Font("tiro").buffer)
    assert having("aé", [tmp_path / "a.otf"])
    assert not having("漢", [tmp_path / "a.otf"])

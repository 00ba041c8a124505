import gzip
import shutil
import struct
from pathlib import Path

import pytest

from ocr.training.corpus.extract import READERS, catalogue, files, read_text


def compiled(pairs: list[tuple[bytes, bytes]]) -> bytes:
    """A little-endian gettext catalogue, as msgfmt writes it."""
    start = 28 + 16 * len(pairs)
    tables, strings = [b"", b""], b""
    for side in (0, 1):
        for pair in pairs:
            tables[side] += struct.pack("<2I", len(pair[side]), start + len(strings))
            strings += pair[side] + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0)
    return head + tables[0] + tables[1] + strings


PAIRS = [
    (b"", b"Content-Type: text/plain; charset=ISO-8859-1\n"),
    (b"menu\x04Good <b>day</b>", "Grüß <b>Gott</b>".encode("latin-1")),
    (b"%d files", b"%d Dateien"),
]


def test_catalogue_follows_its_charset_and_drops_the_header() -> None:
    assert catalogue(compiled(PAIRS)) == [
        ("menu\x04Good <b>day</b>", "Grüß <b>Gott</b>"),
        ("%d files", "%d Dateien"),
    ]


def test_messages_and_originals_have_no_markup_context_or_placeholders(tmp_path: Path) -> None:
    path = tmp_path / "x.mo"
    path.write_bytes(compiled(PAIRS))
    assert READERS["messages"](path) == ["Grüß Gott"]
    assert READERS["originals"](path) == ["Good day"]


def test_read_text_unzips_and_falls_back_to_latin_1(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress("naïve".encode("latin-1")))
    (tmp_path / "b").write_bytes("naïve".encode())
    assert read_text(tmp_path / "a.gz") == read_text(tmp_path / "b") == "naïve"


@pytest.mark.skipif(shutil.which("man") is None, reason="man-db is not installed")
def test_a_manual_page_has_a_line_for_each_paragraph(tmp_path: Path) -> None:
    page = tmp_path / "cat.1.gz"
    source = r""".TH CAT 1
.SH DESCRIPTION
Joins \fIfiles\fP and
.B writes
them \(em all of them.
.PP
A second paragraph, on caf\['e]s
and \-\-options"""
    page.write_bytes(gzip.compress(source.encode()))
    found = [line.strip() for line in READERS["man"](page) if line.strip()]
    assert found == [
        "DESCRIPTION",
        "Joins files and writes them — all of them.",
        "A second paragraph, on cafés and --options",
    ]


def test_fortunes_end_at_a_percent_line(tmp_path: Path) -> None:
    path = tmp_path / "cookies"
    path.write_text("A line\nand another\n%\nSecond, 100 % sure\n%\n")
    assert READERS["fortunes"](path)[:2] == ["A line and another", "Second, 100 % sure"]


def test_dictionary_loses_links_and_pronunciation(tmp_path: Path) -> None:
    path = tmp_path / "d.dz"
    entry = 'Arpent \\Ar"pent\\, n. See {Acre}.\n   A measure of land.\n   [1913 Webster]\n\nNext'
    path.write_bytes(gzip.compress(entry.encode()))
    assert READERS["dictionary"](path) == ["Arpent n. See Acre. A measure of land.", "Next"]


def test_rare_letters_of_a_spelling_dictionary_are_drawn_as_often_as_others(tmp_path: Path) -> None:
    words = [f"a{'bcd'[i % 3]}/XY" for i in range(98)] + ["ağ", "aş\tst:x"]
    (tmp_path / "tr.dic").write_bytes("\n".join(["100", *words]).encode("iso8859-9"))
    (tmp_path / "tr.aff").write_text("SET ISO8859-9\n")
    drawn = " ".join(READERS["words"](tmp_path / "tr.dic")).lower().split()
    assert set(drawn) == {"ab", "ac", "ad", "ağ", "aş"}
    assert 0.15 < drawn.count("ağ") / len(drawn) < 0.25


def test_files_come_sorted_once_and_without_links(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt"):
        (tmp_path / name).write_text("x")
    (tmp_path / "c.txt").symlink_to(tmp_path / "a.txt")
    assert [path.name for path in files(tmp_path, ["*.txt", "a*"])] == ["a.txt", "b.txt"]

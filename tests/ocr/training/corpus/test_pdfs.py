from pathlib import Path

import pymupdf
import pytest

from ocr.training.corpus import pdfs
from ocr.training.corpus.packages import Package
from ocr.training.corpus.pdfs import build_pdfs, foreign_share, known_share, sound, trim

SENTENCE = "The ferry leaves the harbour at nine in the morning and comes back late at night. "
WORDS = frozenset(SENTENCE.lower().replace(".", "").split())


def document(pages: list[str]) -> bytes:
    with pymupdf.open() as pdf:
        for text in pages:
            page = pdf.new_page()
            page.insert_textbox(pymupdf.Rect(50, 50, 545, 792), text, fontsize=9)
            page.insert_link(
                {"kind": pymupdf.LINK_URI, "from": pymupdf.Rect(0, 0, 9, 9), "uri": "https://x.org"}
            )
        pdf.set_metadata({"author": "Somebody"})
        data = pdf.tobytes()
    assert isinstance(data, bytes)
    return data


def test_foreign_share_counts_private_use_and_other_scripts() -> None:
    assert foreign_share("Añb – “x” ≤ α ﬁ") == 0
    assert foreign_share("ab\ue000Я") == pytest.approx(0.5)


def test_known_share_sees_through_ligatures() -> None:
    assert known_share("the ﬁrst", frozenset(["the", "first"])) == 1
    assert known_share("12 34", frozenset(["the"])) == 0


def test_gibberish_and_split_accents_are_not_sound() -> None:
    text = SENTENCE * 8
    assert sound(text, WORDS)
    assert not sound(text[:100], WORDS)
    assert not sound(text + "¨a ´e", WORDS)
    assert not sound("".join(chr(ord(c) + 1) if c.isalpha() else c for c in text), WORDS)


def test_trim_keeps_sound_pages_without_links_and_metadata() -> None:
    shifted = "Uif gfssz mfbwft uif ibscpvs bu ojof jo uif npsojoh. " * 12
    data, pages = trim(document([SENTENCE * 8, shifted, SENTENCE * 9]), WORDS)
    assert pages == 2
    with pymupdf.open(stream=data) as small:
        assert len(small) == 2
        assert "Uif" not in "".join(page.get_text() for page in small)
        assert not any(page.get_links() for page in small)
        assert not small.metadata["author"]


def test_trim_takes_at_most_so_many_pages_from_all_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdfs, "_KEPT", 3)
    data, pages = trim(document([f"{i} " + SENTENCE * 8 for i in range(9)]), WORDS)
    assert pages == 3
    with pymupdf.open(stream=data) as small:
        assert [page.get_text().split()[0] for page in small] == ["0", "3", "6"]


@pytest.mark.parametrize("data", [b"", b"%PDF-1.4 broken", b"not a pdf at all"])
def test_damaged_documents_are_refused(data: bytes) -> None:
    assert trim(data, WORDS) == (b"", 0)


def test_build_writes_each_document_once_while_there_is_room(tmp_path: Path) -> None:
    root = tmp_path / "pkg"
    root.mkdir()
    for name, text in {"a": SENTENCE * 8, "copy-of-a": SENTENCE * 8, "b": "Nine. " + SENTENCE * 8}.items():
        (root / f"{name}.pdf").write_bytes(document([text]))
    packages = {"p": Package(name="p", version="1", licence="GPL", root=root)}
    index = build_pdfs(packages, {"p": 9}, WORDS, tmp_path / "one", budget_bytes=10**6)
    assert len(index) == 2
    for entry in index:
        with pymupdf.open(tmp_path / "one" / str(entry["file"])) as written:
            assert entry["pages"] == list(range(len(written)))
    assert not build_pdfs(packages, {"p": 9}, WORDS, tmp_path / "three", budget_bytes=10)

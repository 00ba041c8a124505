import lzma
from pathlib import Path

import pytest

import ocr.training.corpus
from ocr.training.corpus.__main__ import vocabulary
from ocr.training.corpus.packages import CorpusError, Package, licence, refuse_excluded
from ocr.training.corpus.pdfs import load_packages
from ocr.training.corpus.texts import Source, TextPlan, build_texts, load_plan

HERE = Path(ocr.training.corpus.__file__).parent


def test_no_table_names_a_package_of_the_evaluation_set() -> None:
    plan = load_plan(HERE / "texts.yaml")
    names = {name for source in plan.sources for name in source.packages}
    names |= set(load_packages(HERE / "pdfs.yaml"))
    assert len(names) > 100
    refuse_excluded(names)


@pytest.mark.parametrize("name", ["texlive-latex-base-doc", "lilypond-doc-pdf-de", "debian-reference-en"])
def test_evaluation_packages_are_refused(name: str) -> None:
    with pytest.raises(CorpusError, match=name):
        refuse_excluded(["bash-doc", name])


def test_plan_expands_languages_and_limits_every_category() -> None:
    plan = load_plan(HERE / "texts.yaml")
    assert {source.category for source in plan.sources} == set(plan.limits_bytes)
    german = [
        source for source in plan.sources if source.category == "de" and "manpages-de" in source.packages
    ]
    assert german[0].patterns[0] == "usr/share/man/de/man*/*.gz"
    assert not any("{lang}" in pattern for source in plan.sources for pattern in source.patterns)


def test_unknown_kind_is_named(tmp_path: Path) -> None:
    table = tmp_path / "t.yaml"
    table.write_text("limits_mb: {other: 1}\nfolders: {}\nsources: [{category: a, kind: pfd, files: []}]\n")
    with pytest.raises(CorpusError, match="pfd"):
        load_plan(table)


def test_texts_are_written_once_within_their_limits(tmp_path: Path) -> None:
    root = tmp_path / "pkg"
    root.mkdir()
    lines = [
        f"Sentence number {'x' * i} says that the ferry leaves at nine in the morning." for i in range(1, 41)
    ]
    (root / "a.txt").write_text("\n\n".join(lines + lines))
    package = Package(name="p", version="1", licence="GPL", root=root)
    source = Source(category="en_prose", kind="plain", packages=("p",), patterns=("*.txt",), max_bytes=1000)
    plan = TextPlan(sources=(source, source), limits_bytes={"en_prose": 2500})
    facts = build_texts(plan, {"p": package}, tmp_path / "out")
    text = lzma.decompress((tmp_path / "out/en_prose.txt.xz").read_bytes()).decode()
    paragraphs = text.strip().split("\n\n")
    assert len(paragraphs) == len(set(paragraphs)) == facts["en_prose"]["paragraphs"]
    assert set(paragraphs) <= set(lines)
    assert 2000 < len(text.encode()) <= 2500


def test_vocabulary_holds_words_seen_twice(tmp_path: Path) -> None:
    (tmp_path / "en_prose.txt.xz").write_bytes(lzma.compress(b"Tea, tea and coffee. And so on."))
    (tmp_path / "code.txt.xz").write_bytes(lzma.compress(b"int int"))
    assert vocabulary(tmp_path) == {"tea", "and"}
    with pytest.raises(CorpusError, match="text"):
        vocabulary(tmp_path / "nothing")


def test_licence_from_fields_and_from_prose() -> None:
    fields = "Format: https://x\nFiles: *\nLicense: GPL-2+\n text\n\nFiles: debian/*\nLicense: MIT\n"
    assert licence(fields) == "GPL-2+, MIT"
    assert licence("This may be used under the SIL Open Font\nLicense, version 1.1") == "OFL-1.1"
    assert "copyright" in licence("")

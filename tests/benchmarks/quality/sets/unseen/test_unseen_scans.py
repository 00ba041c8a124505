"""Transcriptions become page texts in reading order, pages come from a git copy, pages without either are left out."""

import subprocess
from pathlib import Path

import pytest

from tests.benchmarks.quality.sets.layout import QualityError
from tests.benchmarks.quality.sets.unseen.scans import Mirror, in_rows, page_text, text_lines

_LONG = "long enough to be counted as a page of its own, as it has more than eighty characters in it"


def _alto(*lines: tuple[str, int, int]) -> str:
    return "".join(
        f'<TextLine HEIGHT="40" BASELINE="{x} {y} {x + 300} {y}"><String CONTENT="{text}"/></TextLine>'
        for text, x, y in lines
    )


def test_rows_are_read_from_left_to_right() -> None:
    lines = in_rows(
        text_lines(
            _alto(
                ("second", 0, 150), ("right", 500, 52), ("left", 0, 50), ("third", 0, 250), ("last", 0, 350)
            )
        )
    )
    assert page_text(lines) == "left right\nsecond\nthird\nlast"


def test_columns_stay_as_transcribed() -> None:
    columns = [(f"{side}{row}", x, 100 * row) for side, x in (("a", 0), ("b", 500)) for row in range(1, 4)]
    assert page_text(in_rows(text_lines(_alto(*columns)))) == "a1\na2\na3\nb1\nb2\nb3"


def test_page_xml_is_read_and_transcribers_signs_are_not_text() -> None:
    xml = (
        '<TextLine id="l"><Coords points="0,0 9,0 9,9 0,9"/><Baseline points="0,8 9,8"/>'
        "<TextEquiv><Unicode>_This _is 1^er &amp; bro\u00ac</Unicode></TextEquiv></TextLine>"
    )
    assert page_text(text_lines(xml)) == "This is 1er & bro-"


def test_a_page_needs_a_picture_and_a_transcription(tmp_path: Path) -> None:
    work = tmp_path / "work"
    for name, files in {
        "doc": ("a.xml", "a.jpeg", "b.xml"),
        "alto": ("c.xml",),
        "images": ("c.png",),
    }.items():
        (work / name).mkdir(parents=True)
        for file in files:
            (work / name / file).write_text(_alto((_LONG, 0, 0)) if file.endswith("xml") else file)
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "pages"]):
        subprocess.run(["git", "-C", str(work), *command], check=True)
    mirror = Mirror(work, "HEAD")
    assert [(page.path, page.suffix, page.truth) for page in mirror.pages("doc")] == [
        ("doc/a.xml", ".jpg", _LONG)
    ]
    assert [page.picture for page in mirror.pages("alto")] == [b"c.png"]
    with pytest.raises(QualityError, match="no page of 'doc/b'"):
        mirror.pages("doc/b")

"""Composed pages come out the same each time, say what is written on them, and look different through each device."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFont

from tests.benchmarks.quality.sets.unseen.composed import devices, faces
from tests.benchmarks.quality.sets.unseen.composed.faces import Face
from tests.benchmarks.quality.sets.unseen.composed.invented import Invented
from tests.benchmarks.quality.sets.unseen.composed.kinds import KINDS, Kind, compose
from tests.benchmarks.quality.sets.unseen.composed.prose import Prose, paragraphs
from tests.benchmarks.quality.sets.unseen.composed.workshop import Material

_TEXT = tuple(
    f"Number {number} of the paragraphs that fill these pages with words. " * 4 for number in range(40)
)


@pytest.fixture
def material(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Material:
    font = ImageFont.load_default(12)
    assert isinstance(font, ImageFont.FreeTypeFont)
    font.font_bytes  # noqa: B018 - the face that Pillow carries
    (tmp_path / "face.ttf").write_bytes(font.font_bytes)
    uses = ("text", "sans", "head", "till", "typed", "pen")
    known = [Face(family="Aileron", use=use, package="fonts", files={"regular": "face.ttf"}) for use in uses]
    monkeypatch.setattr(faces, "load", lambda: known)
    Image.linear_gradient("L").resize((900, 700)).save(tmp_path / "photo.png")
    return Material(
        roots={"fonts": tmp_path},
        prose=(Prose(title="A Book", paragraphs=_TEXT),),
        photographs=(tmp_path / "photo.png",),
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_page_is_the_same_each_time_and_has_text(kind: Kind, material: Material) -> None:
    kind = replace(kind, dpi=kind.dpi // 2)  # for speed
    one, two = compose(kind, 0, material), compose(kind, 0, material)
    assert one.image.tobytes() == two.image.tobytes()
    assert one.text == two.text
    assert len(one.text) > 100
    assert one.families == ("Aileron",)


@pytest.mark.parametrize(
    "device",
    [
        devices.office_scan,
        devices.newsprint,
        devices.glossy,
        devices.book_scan,
        devices.thermal,
        devices.telephone,
    ],
)
def test_a_device_leaves_marks_but_no_empty_page(device: Callable[..., Image.Image]) -> None:
    page = Image.new("RGB", (400, 300), (255, 255, 255))
    page.paste((0, 0, 0), (50, 50, 350, 60))
    seen = np.asarray(device(page, random.Random(1)).convert("L"))
    assert seen.std() > 5
    assert (np.asarray(device(page, random.Random(1)).convert("L")) == seen).all()


def test_a_fax_has_its_resolution() -> None:
    seen = {devices.fax(Image.new("RGB", (400, 300)), random.Random(n)).info["dpi"] for n in range(9)}
    assert seen == {(204, 98), (204, 196)}


def test_sentences_have_no_gaps_and_paragraphs_no_markup() -> None:
    made = Invented.of(random.Random(2))
    assert not any(sign in made.paragraph(40) for sign in "{}")
    assert paragraphs(
        f'<p id="a">One <i>two</i>\n {"three " * 30}<a epub:type="noteref">1</a></p><p>x</p>'
    ) == [("One two " + "three " * 30).strip()]

"""Reports what a decoder filled in, and nothing for whole pictures; tests.faults.doubt.lost_pictures draws both."""

import io
import os
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pipeline.documents.damage import image_losses, picture_data
from pipeline.documents.damage.image_losses import has_hole
from pipeline.documents.failures import DocumentError, PageRenderError
from tests.faults.doubt import lost_pictures
from tests.faults.doubt.lost_pictures import sound_images, spoilt_images
from tests.pipeline.conftest import Batch
from tests.pipeline.documents.drawing import show
from tests.pipeline.runs import rows

BLOCK = 4096


def _lacking(path: Path) -> str:
    try:
        return show(path).missing
    except (DocumentError, PageRenderError) as error:
        return str(error)


@pytest.mark.parametrize("name", [name for name in spoilt_images() if name.startswith("cut-")])
def test_a_cut_picture_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(spoilt_images()[name])
    with pytest.raises((DocumentError, PageRenderError)):
        show(path)


@pytest.mark.parametrize("name", [name for name in spoilt_images() if not name.startswith("cut-")])
def test_a_spoilt_picture_is_refused_or_said_to_lack_something(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(spoilt_images()[name])
    assert re.search("(cannot|not all of the picture can) be decoded", _lacking(path))


@pytest.mark.parametrize("name", sound_images())
def test_a_whole_picture_lacks_nothing(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(sound_images()[name])
    drawn = show(path)
    assert (drawn.missing, drawn.blank) == ("", False)


def test_a_hole_begins_and_ends_with_a_block() -> None:
    data = b"\xfa" * (8 * BLOCK + 100)

    def holed(start: int, end: int) -> io.BytesIO:
        return io.BytesIO(data[:start] + bytes(end - start) + data[end:])

    assert not has_hole(io.BytesIO(data))
    assert has_hole(holed(3 * BLOCK, 5 * BLOCK))
    assert has_hole(holed(6 * BLOCK, len(data)))
    assert not has_hole(holed(3 * BLOCK - 1, 5 * BLOCK))
    assert not has_hole(holed(3 * BLOCK, 5 * BLOCK + 1))
    assert not has_hole(holed(8 * BLOCK, len(data)))  # less than a block
    assert not has_hole(io.BytesIO())


def test_a_hole_counts_for_the_frame_whose_data_it_is_in(tmp_path: Path) -> None:
    path = tmp_path / "two.tif"
    frames = [Image.fromarray(np.full((200, 200), shade, np.uint8)) for shade in (250, 240)]
    frames[0].save(path, save_all=True, append_images=frames[1:])
    with Image.open(path) as image:
        image.seek(1)
        (start,) = image.tag_v2[273]
    data = bytearray(path.read_bytes())
    hole = -(-start // BLOCK) * BLOCK
    data[hole : hole + BLOCK] = bytes(BLOCK)
    assert data[hole - 1]
    assert data[hole + BLOCK]
    path.write_bytes(data)
    assert show(path, 0).blank
    with pytest.raises(PageRenderError, match="blocks of zeros"):
        show(path, 1)


def test_a_picture_of_which_nothing_was_written_is_not_blank(tmp_path: Path) -> None:
    path = tmp_path / "white.bmp"
    palette_bytes = 54 + 4 * 256
    made = io.BytesIO()
    Image.new("P", (1240, 1754), 1).save(made, "BMP")
    data = bytearray(made.getvalue())
    data[54:palette_bytes] = b"\xff" * (palette_bytes - 54)  # whatever the pixels are, white
    data[2 * BLOCK :] = bytes(len(data) - 2 * BLOCK)
    path.write_bytes(data)
    with pytest.raises(PageRenderError, match="blocks of zeros") as caught:
        show(path)
    assert caught.value.category == "unreadable"


def test_a_line_of_a_fax_that_is_lost_for_itself_is_not_missed() -> None:
    def lines(number: int, kind: str) -> str:
        return "".join(
            f"Fax{kind}: Bad code word at line {line} of strip 0 (x 9).\n" for line in range(number)
        )

    assert not image_losses._has_lost_lines(lines(3, "3Decode1D"))
    assert image_losses._has_lost_lines(lines(4, "3Decode1D"))
    assert image_losses._has_lost_lines(lines(1, "4Decode"))


def test_what_is_printed_otherwise_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fax.tif"
    path.write_bytes(spoilt_images()["rotten-group4.tif"])
    with Image.open(path) as image:
        with image_losses.libtiff_words(image) as words:
            image.load()
        os.write(2, b"after\n")
    assert "Bad code word" in words[0]
    assert capfd.readouterr().err == "after\n"


def test_zeros_in_a_jpeg_are_white_where_its_codes_say_so() -> None:
    """With codes made for the picture a white area is zeros; with the usual ones nothing is."""
    hole = lost_pictures.with_hole(lost_pictures.jpeg(), 1)
    assert picture_data.is_damaged("/DCTDecode", hole)
    made = io.BytesIO()
    Image.new("L", (4000, 4000), 255).save(made, "JPEG", optimize=True)
    assert bytes(64) in made.getvalue()
    assert not picture_data.is_damaged("/DCTDecode", made.getvalue())


def test_a_run_keeps_what_was_read_of_a_spoilt_picture_in_doubt(batch: Batch) -> None:
    (batch.docs / "hole.bmp").write_bytes(spoilt_images()["hole-grey.bmp"])
    (batch.docs / "sound.bmp").write_bytes(sound_images()["grey.bmp"])
    assert batch.run().exit_code == 3
    hole, sound = rows(batch.database)
    assert (hole["status"], bool(hole["text"])) == ("doubtful", True)
    assert "parts of the file were never written" in hole["doubt"]
    assert (sound["status"], sound["doubt"]) == ("ok", None)

"""Reading with networks of random weights: loaded as stored, alone as in a batch, nothing where there is nothing."""

import json
from pathlib import Path

import numpy as np
import pymupdf
import pytest
import torch
from safetensors.torch import save_file

from ocr.line_networks.finder_net import FinderNet
from ocr.line_networks.reader_net import ReaderNet
from ocr.line_reader.found_lines import TextLine
from ocr.line_reader.line_images import HEIGHT_PX
from ocr.line_reader.networks import ReaderSizes
from ocr.line_reader.reading import LineReader, darkness_of
from tests.ocr.line_reader.printed import shipped

SAMPLES = Path(__file__).parents[2] / "samples"
CHARACTERS = "abcdef"
SMALL = {"width": 32, "layers": 2, "heads": 2, "stem": [4, 8, 16], "blocks": [1, 1, 1]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(3)
    place = tmp_path_factory.mktemp("lines")
    save_file(
        ReaderNet(ReaderSizes(num_classes=len(CHARACTERS) + 2, **SMALL)).state_dict(),
        place / "reader.safetensors",
    )  # type: ignore[arg-type]
    save_file(
        {
            name: value.half() if value.is_floating_point() else value
            for name, value in FinderNet().state_dict().items()
        },
        place / "finder.safetensors",
    )
    (place / "reader.json").write_text(json.dumps({**SMALL, "characters": CHARACTERS}), encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def reader(folder: Path) -> LineReader:
    return LineReader.load(folder)


def lines(number: int) -> list[TextLine]:
    return [
        TextLine(
            left=20, right=120 + 90 * n, baseline=np.full(100 + 90 * n, 60.0 + 50 * n, np.float32), size=30.0
        )
        for n in range(number)
    ]


def test_a_line_reads_alike_alone_and_beside_longer_ones(reader: LineReader) -> None:
    darkness = np.random.default_rng(5).integers(0, 256, (400, 700), np.uint8)
    together = reader.read(darkness, lines(5))
    assert [read.line.right for read in together] == [120 + 90 * n for n in range(5)]
    for line, read in zip(lines(5), together, strict=True):
        (alone,) = reader.read(darkness, [line])
        assert alone.text == read.text
        assert alone.confidence == pytest.approx(read.confidence, abs=1e-4)


def test_a_line_that_is_longer_than_an_image_is_read_in_parts(reader: LineReader) -> None:
    line = TextLine(left=0, right=3000, baseline=np.full(3000, 60.0, np.float32), size=20.0)
    (read,) = reader.read(np.zeros((100, 3000), np.float32), [line])
    assert 0 <= read.confidence <= 1


def test_nothing_is_read_where_there_is_no_line(reader: LineReader) -> None:
    assert reader.read(np.zeros((50, 50), np.float32), []) == []


@pytest.mark.parametrize("shape", [(33, 47), (300, 200), (2600, 40)])
def test_pages_of_any_shape_are_searched(reader: LineReader, shape: tuple[int, int]) -> None:
    for line in reader.find(np.random.default_rng(1).random(shape, np.float32)):
        assert 0 <= line.left < line.right <= shape[1]
        assert len(line.baseline) == line.right - line.left


def test_repeats_and_blanks_are_no_characters(reader: LineReader) -> None:
    classes, chances = [0, 2, 2, 0, 2, 3, 1, 1, 4, 0], [1, 0.5, 0.9, 1, 0.8, 0.7, 0.6, 0.9, 1.0, 1]
    letters = reader._decoded(np.array(classes), np.array(chances))
    assert "".join(letter.text for letter in letters) == "aab c"
    assert [letter.chance for letter in letters] == [0.9, 0.8, 0.7, 0.9, 1.0]
    assert [letter.x for letter in letters] == [
        8.0,
        18.0,
        22.0,
        28.0,
        34.0,
    ]  # of frames that are 4 pixels wide


@pytest.mark.parametrize(("second", "text"), [(0.8, "a"), (0.9, "aa")])
def test_a_letter_is_not_read_twice_where_there_is_room_for_one(
    reader: LineReader, second: float, text: str
) -> None:
    letters = reader._decoded(np.array([2, 0, 2]), np.array([0.95, 1.0, second]))
    assert "".join(letter.text for letter in letters) == text
    assert letters[0].chance == 0.95


@pytest.mark.parametrize(
    ("classes", "chances", "text"),
    [
        ([3, -2, -2, 4], [0.9, 0.48, 0.3, 0.9], "bac"),
        ([-2, -2], [0.45, 0.45], "a"),
        ([-2, -2, -2], [0.4, 0.4, 0.4], "a"),
        ([3, -2, -2, 4], [0.9, 0.4, 0.3, 0.9], "bc"),  # 0.58 only
        ([3, -2, -4, 4], [0.9, 0.48, 0.48, 0.9], "bc"),  # two letters, either unlikely
        ([3, -2, 0, -2, 4], [0.9, 0.38, 0.1, 0.48, 0.9], "bac"),  # an M at a line's start was lost so
        ([3, -2, 5, -2, 4], [0.9, 0.48, 0.9, 0.48, 0.9], "bdc"),
        ([3, -2, 0, 0, -2, 4], [0.9, 0.48, 0.1, 0.1, 0.48, 0.9], "bc"),
        ([2, -2, -2, 3], [0.9, 0.48, 0.48, 0.9], "ab"),  # the rest of the letter beside
        ([3, -2, -2, 2], [0.9, 0.48, 0.48, 0.9], "ba"),
        ([3, -1, -1, 4], [0.9, 0.48, 0.48, 0.9], "bc"),  # spaces are told by the white as well
    ],
)
def test_a_letter_that_is_split_over_frames_is_read(
    reader: LineReader, classes: list[int], chances: list[float], text: str
) -> None:
    letters = reader._decoded(np.array(classes), np.array(chances, np.float32))
    assert "".join(letter.text for letter in letters) == text


def test_a_split_letter_is_as_sure_as_that_it_is_in_either_frame(reader: LineReader) -> None:
    (letter,) = reader._decoded(np.array([0, -2, -2, 0]), np.array([0.01, 0.4, 0.4, 0.01], np.float32))
    assert (letter.text, letter.x) == ("a", 8.0)
    assert letter.chance == pytest.approx(0.64)


def test_padding_hardly_changes_a_frame_of_a_line() -> None:
    torch.manual_seed(0)
    net = ReaderNet(ReaderSizes(num_classes=8, **SMALL)).eval()  # type: ignore[arg-type]
    line = torch.rand(1, 1, HEIGHT_PX, 64)
    wide = torch.zeros(1, 1, HEIGHT_PX, 256)
    wide[..., :64] = line
    with torch.inference_mode():
        alone, frames = net(line, torch.tensor([64]))
        beside, _ = net(wide, torch.tensor([64]))
    inner = (
        int(frames) - 4
    )  # at the end the stem's convolutions see padding, which attention hardly tells the others
    assert torch.allclose(alone[0, :inner], beside[0, :inner], atol=0.01)


def test_white_is_no_darkness() -> None:
    assert darkness_of(np.asarray([[255, 0]], np.uint8)).tolist() == [[0, 255]]


@pytest.mark.parametrize("told", [-80.0, 80.0])
def test_no_type_size_is_without_bound(folder: Path, tmp_path: Path, told: float) -> None:
    finder = FinderNet()
    torch.nn.init.zeros_(finder.head.weight)
    finder.head.bias.data = torch.tensor([9.0, 0.0, told])
    for name in ("reader.json", "reader.safetensors"):
        (tmp_path / name).symlink_to(folder / name)
    save_file(finder.state_dict(), tmp_path / "finder.safetensors")
    found = LineReader.load(tmp_path).find(np.zeros((96, 128), np.float32))
    assert all(3.0 <= line.size <= 600.0 for line in found)


def test_small_print_is_looked_at_again_enlarged() -> None:
    """Type of 4 pt: pages of a ninth of one, which the finder would see at 33 dpi."""
    source = pymupdf.open(SAMPLES / "report.pdf")
    sheet = pymupdf.open()
    page = sheet.new_page(width=595, height=842)
    for number in range(3):
        x, y = number * 595 / 3, number * 842 / 3
        page.show_pdf_page(pymupdf.Rect(x, y, x + 595 / 3, y + 842 / 3), source, 0)
    pixmap = page.get_pixmap(dpi=300, colorspace=pymupdf.csGRAY)
    grey = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.stride)[:, : pixmap.width]
    darkness = darkness_of(grey)
    texts = [read.text for read in shipped().read(darkness, shipped().find(darkness))]
    assert texts.count("1. The year in brief") == 3

"""Pages are read line by line, from their pixels to a result with boxes in the page's own pixels."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pymupdf
import pytest
from PIL import Image, ImageDraw, ImageFont

from ocr.line_reader.faint_print import darkened
from ocr.line_reader.found_lines import ReadLine, Shades, TextLine
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.model_files.locate import LINES, find_directory
from pipeline.documents.settings import TileSettings
from pipeline.stages.read_lines import _is_better, find_words, read_lines
from pipeline.stages.render import tile
from pipeline.types import PageResult, RenderedPage
from tests.faults.statuses import faint
from tests.faults.statuses.pages import Workshop
from tests.ocr.line_reader.printed import shipped
from tests.pipeline.documents.drawing import SAMPLES, show

LETTER = SAMPLES / "letter.png"


@pytest.fixture(scope="module")
def reader() -> LineReader:
    return shipped()


def rendered(path: Path, index: int = 0) -> RenderedPage:
    settings = TileSettings(lines=True)
    return tile(show(path, index, tile=settings), settings)


@pytest.fixture(scope="module")
def page() -> RenderedPage:
    """The letter down to its first paragraph."""
    whole = rendered(LETTER)
    assert whole.grey is not None
    return replace(whole, grey=whole.grey[:694], height_px=694)


@pytest.fixture(scope="module")
def result(page: RenderedPage, reader: LineReader) -> PageResult:
    return read_lines(page, reader)


def test_a_letter_is_read_with_its_paragraphs_boxes_and_confidence(
    page: RenderedPage, result: PageResult
) -> None:
    assert result.parsed is not None
    assert result.parsed.text.startswith("Greenfield Bakery\n\n7 Station Road, Lower Marsh\n\n")
    assert result.status == "ok"
    assert result.confidence is not None
    assert result.confidence > 0.9
    assert [timing.stage for timing in result.timings] == ["render", "tile", "find", "read", "order"]
    assert (result.width_px, result.height_px) == (page.width_px, page.height_px)
    for block in result.parsed.blocks:
        assert block.box_px is not None
        x0, y0, x1, y1 = block.box_px
        assert 0 <= x0 < x1 <= page.width_px
        assert 0 <= y0 < y1 <= page.height_px


@pytest.mark.parametrize("tilt_deg", [-15, 20, 105])
def test_a_sheet_that_lies_askew_is_read_as_if_it_lay_level(
    page: RenderedPage, result: PageResult, reader: LineReader, tilt_deg: int
) -> None:
    """Its boxes stand where it shows the words."""
    sheet = Image.fromarray(page.grey)
    tilted = sheet.rotate(tilt_deg, Image.Resampling.BICUBIC, expand=True, fillcolor=255)
    width, height = tilted.size
    askew = replace(page, grey=np.asarray(tilted), colour=None, width_px=width, height_px=height)
    found = read_lines(askew, reader)
    assert found.status == "ok"
    assert found.parsed is not None
    assert result.parsed is not None
    assert found.parsed.text.split() == result.parsed.text.split()
    turn = np.exp(-1j * np.radians(tilt_deg))
    for word, level in zip(found.parsed.words, result.parsed.words, strict=True):
        assert word.box_px is not None
        assert level.box_px is not None
        x0, y0, x1, y1 = word.box_px
        assert 0 <= x0 < x1 <= width
        assert 0 <= y0 < y1 <= height
        across, down = (sum(level.box_px[at::2]) / 2 for at in (0, 1))
        shown = (complex(across, down) - complex(*sheet.size) / 2) * turn + complex(width, height) / 2
        assert abs(complex(x0 + x1, y0 + y1) / 2 - shown) < 8


def test_no_letter_is_cut_away_under_a_table(reader: LineReader) -> None:
    """The third page of the fax has a table above a paragraph, whose columns say nothing about its words."""
    parsed = read_lines(rendered(SAMPLES / "fax.tiff", 2), reader).parsed
    truth = (SAMPLES.parent / "truth" / "fax.tiff" / "3.txt").read_text(encoding="utf-8")
    assert parsed is not None
    assert parsed.text.split() == truth.split()


def test_every_word_has_a_box_in_that_of_its_block(result: PageResult) -> None:
    parsed = result.parsed
    assert parsed is not None
    assert [word.text for word in parsed.words] == parsed.text.split()
    left = iter(parsed.words)
    for block in parsed.blocks:
        assert block.box_px is not None
        x0, y0, x1, y1 = block.box_px
        for word in islice(left, len(block.text.split())):
            assert word.box_px is not None
            assert x0 - 5 <= word.box_px[0] < word.box_px[2] <= x1 + 5
            assert y0 - 5 <= word.box_px[1] < word.box_px[3] <= y1 + 5
            assert 0 < (word.confidence or 0) <= 1


def test_the_words_of_a_page_for_another_model_are_those_that_are_read(
    page: RenderedPage, result: PageResult, reader: LineReader
) -> None:
    parsed = result.parsed
    assert parsed is not None
    seen = find_words(replace(page, grey=None, ink=page.grey), reader)
    assert seen.words == tuple(
        replace(word, confidence=seen.words[n].confidence) for n, word in enumerate(parsed.words)
    )
    assert seen.seconds > 0


def test_boxes_are_the_page_s_where_a_smaller_image_was_read(
    page: RenderedPage, result: PageResult, reader: LineReader
) -> None:
    plain = result
    larger = read_lines(replace(page, width_px=2 * page.width_px, height_px=2 * page.height_px), reader)
    assert plain.parsed is not None
    assert larger.parsed is not None
    doubled = [tuple(2 * side for side in block.box_px or ()) for block in plain.parsed.blocks]
    assert [block.box_px for block in larger.parsed.blocks] == doubled
    words = [tuple(2 * side for side in word.box_px or ()) for word in plain.parsed.words]
    assert [word.box_px for word in larger.parsed.words] == words


def test_a_page_on_which_nothing_is_found_is_blank(page: RenderedPage, reader: LineReader) -> None:
    assert page.grey is not None
    result = read_lines(replace(page, grey=np.full_like(page.grey, 255)), reader)
    assert (result.status, result.confidence) == ("blank", None)


def scribble(grey: np.ndarray) -> Image.Image:
    """Waves across a page, as a pen draws them."""
    page = Image.fromarray(grey)
    pen = ImageDraw.Draw(page)
    height, width = grey.shape
    along = np.linspace(0.1, 0.5, 200)
    for row in np.linspace(0.45, 0.95, 7):
        up = 0.02 * np.sin(along * 160) * (1 + np.sin(along * 37))
        pen.line(
            list(zip(along * width, (row + up) * height, strict=True)), fill=30, width=max(2, width // 300)
        )
    return page


def test_strokes_that_are_no_print_make_a_page_doubtful(page: RenderedPage, reader: LineReader) -> None:
    assert page.grey is not None
    white = np.full_like(page.grey, 255)
    result = read_lines(replace(page, grey=np.asarray(scribble(white))), reader)
    assert result.status == "doubtful"
    assert "most of its marks were not read" in result.doubt
    heading = white.copy()
    heading[: len(heading) // 3] = page.grey[: len(heading) // 3]
    alone, above = (
        read_lines(replace(page, grey=np.asarray(grey)), reader) for grey in (heading, scribble(heading))
    )
    assert (alone.status, above.status) == ("ok", "doubtful")
    assert above.parsed is not None
    assert above.parsed.text.strip(), "what is print is still read"


def drawn(page: RenderedPage, *paragraphs: str) -> RenderedPage:
    """Returns the page with other print on it, in typefaces of MuPDF."""
    with pymupdf.open() as document:
        sheet = document.new_page(width=480, height=340)
        body = "".join(f"<p>{text}</p>" for text in paragraphs)
        sheet.insert_htmlbox(pymupdf.Rect(30, 30, 450, 320), body, css="* {font-size: 12px}")
        pixmap = sheet.get_pixmap(dpi=150, colorspace=pymupdf.csGRAY)
    grey = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width)
    return replace(page, grey=grey, width_px=pixmap.width, height_px=pixmap.height)


ENGLISH = (
    "Eleven members attended the meeting in the village hall. The treasurer explained that the new roof had cost less "
    "than expected, and that the remainder would pay for a better stove."
)


@pytest.fixture(scope="module")
def plain(page: RenderedPage, reader: LineReader) -> PageResult:
    return read_lines(drawn(page, ENGLISH, ENGLISH), reader)


@pytest.mark.parametrize(
    "text",
    [
        "Одиннадцать членов пришли на собрание в сельский клуб. Казначей объяснил, что новая крыша обошлась дешевле.",
        "Έντεκα μέλη παρέστησαν στη συνεδρίαση στην αίθουσα του χωριού. Ο ταμίας εξήγησε ότι η στέγη κόστισε λιγότερο.",
        "बैठक में ग्यारह सदस्य उपस्थित थे। कोषाध्यक्ष ने बताया कि नई छत की लागत अपेक्षा से कम रही और शेष राशि बची है।",
        "אחד עשר חברים השתתפו בישיבה באולם הכפר. הגזבר הסביר שהגג החדש עלה פחות מהצפוי ושהיתרה תשמש לקניית תנור.",
    ],
)
def test_lines_in_another_script_make_a_page_doubtful_and_are_named(
    page: RenderedPage, plain: PageResult, reader: LineReader, text: str
) -> None:
    mixed, whole = (
        read_lines(drawn(page, *parts), reader) for parts in ((ENGLISH, text, ENGLISH), (text, text))
    )
    assert (plain.status, plain.doubt) == ("ok", None)
    assert (mixed.status, whole.status) == ("doubtful", "doubtful")
    assert mixed.parsed is not None
    named = [number for number, row in enumerate(mixed.parsed.text.splitlines(), 1) if "roof" in row]
    assert "no language" in (mixed.doubt or "")
    assert not any(f" {number}" in (mixed.doubt or "") for number in named), (
        "lines that were read are not named"
    )
    assert (whole.confidence or 0) < 0.5 < (mixed.confidence or 0) < 0.95 < (plain.confidence or 0)


def test_a_page_seen_from_behind_is_doubtful(page: RenderedPage, reader: LineReader) -> None:
    assert page.grey is not None
    result = read_lines(replace(page, grey=np.ascontiguousarray(page.grey[:, ::-1])), reader)
    assert result.status == "doubtful"
    assert (result.confidence or 0) < 0.5


@pytest.mark.parametrize(
    ("text", "chance", "expected"),
    [("27", 1.0, "ok"), ("27", 0.6, "doubtful"), ("Nine and twenty", 0.6, "ok")],
)
def test_a_few_characters_are_believed_only_if_they_were_read_surely(
    page: RenderedPage,
    reader: LineReader,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    chance: float,
    expected: str,
) -> None:
    line = TextLine(left=20, right=60, baseline=np.full(40, 50, np.float32), size=20)
    monkeypatch.setattr(reader, "find", lambda darkness: [line])
    monkeypatch.setattr(
        reader, "read", lambda darkness, lines: [ReadLine(line=line, text=text, confidence=chance)]
    )
    monkeypatch.setattr(reader, "calibration", None)
    assert page.grey is not None
    result = read_lines(replace(page, grey=np.full_like(page.grey, 255)), reader)
    assert (result.status, result.confidence) == (expected, chance)


@pytest.mark.parametrize("name", ["255-235", "230-255", "0-20", "half-225", "half-205"])
def test_faint_print_is_read(reader: LineReader, tmp_path: Path, name: str) -> None:
    made = next(page for page in faint.faint(Workshop(packages=tmp_path)) if page.name == name)
    (tmp_path / "a.png").write_bytes(made.content)
    page = rendered(tmp_path / "a.png")
    result = read_lines(page, reader)
    assert (result.status, result.parsed is not None) == ("ok", True)
    assert result.parsed is not None
    assert " ".join(result.parsed.text.split()) == made.text


BLACK, WHITE, RED = (0, 0, 0), (255, 255, 255), (200, 40, 40)
NOTICE = (
    "Bread and cheese for the walk", "Three tickets to the upper town", "Return the key to the warden",
    "Paid in full on the first of May", "Two rooms over the old stables",
)  # fmt: skip


def picture_of(path: Path, ground: tuple[int, ...], *inks: tuple[int, ...], size: float = 30) -> RenderedPage:
    """Returns a picture with lines in these colours in turn; a ground of four values is transparent."""
    made = Image.new("RGBA" if len(ground) == 4 else "RGB", (900, 480), ground)
    pen, face = ImageDraw.Draw(made), ImageFont.load_default(size)
    for number, line in enumerate(NOTICE):
        pen.text((60, 50 + 80 * number), line, font=face, fill=(*inks[number % len(inks)], 255))
    made.save(path)
    return rendered(path)


@pytest.mark.parametrize(
    ("ground", "inks"),
    [
        (WHITE, [BLACK, (175, 175, 175)]),
        (WHITE, [BLACK, (205, 205, 205)]),
        (WHITE, [BLACK, (255, 165, 0)]),
        (WHITE, [BLACK, (173, 216, 230)]),
        (WHITE, [BLACK, BLACK, BLACK, BLACK, (255, 230, 0)]),
        ((160, 160, 160), [BLACK, (235, 130, 40)]),
        ((210, 210, 210), [(120, 120, 120), WHITE]),
        (RED, [(20, 130, 20)]),
        (RED, [WHITE, (20, 130, 20)]),
        ((255, 255, 255, 0), [WHITE, BLACK, BLACK, BLACK, BLACK]),
        ((255, 255, 255, 0), [(255, 240, 120)]),
    ],
)
def test_pale_and_coloured_lines_are_read_beside_others(
    reader: LineReader, tmp_path: Path, ground: tuple[int, ...], inks: list[tuple[int, ...]]
) -> None:
    result = read_lines(picture_of(tmp_path / "a.png", ground, *inks), reader)
    assert result.parsed is not None
    assert result.parsed.text.split() == " ".join(NOTICE).split()


def test_faint_lines_that_are_read_worse_once_they_are_dark_stay_as_they_were(
    reader: LineReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = picture_of(tmp_path / "a.png", WHITE, BLACK, (150, 150, 150))
    assert page.grey is not None
    as_it_is, read = darkness_of(page.grey), reader.read

    def worse(darkness: Shades, lines: Sequence[TextLine]) -> list[ReadLine]:
        found = read(darkness, lines)
        if np.array_equal(darkness, as_it_is):
            return found
        return [replace(line, text=line.text[3:]) for line in found]

    monkeypatch.setattr(reader, "read", worse)
    monkeypatch.setattr("pipeline.stages.read_lines._are_torn", lambda lines: bool(lines))
    parsed = read_lines(page, reader).parsed
    assert parsed is not None
    assert parsed.text.split() == " ".join(NOTICE).split()


def test_a_whole_line_is_better_than_its_pieces_whose_letters_at_cuts_were_read_twice() -> None:
    def read(text: str, left: int, right: int) -> ReadLine:
        line = TextLine(left=left, right=right, baseline=np.full(right - left, 50, np.float32), size=30.0)
        return ReadLine(line=line, text=text, confidence=1.0)

    pieces = [
        read("Claims withi", 76, 262),
        read("in", 270, 296),
        read("sever", 304, 381),
        read("n days", 384, 480),
    ]
    assert _is_better(read("Claims within seven days", 76, 480), pieces)
    assert not _is_better(read("Claims within seven", 76, 480), pieces)


def test_white_print_below_a_dark_banner_on_a_transparent_ground_is_read(
    reader: LineReader, tmp_path: Path
) -> None:
    picture_of(tmp_path / "a.png", (0, 0, 0, 0), WHITE)
    with Image.open(tmp_path / "a.png") as made:
        banner = Image.new("RGBA", (900, 120), (20, 40, 90, 255))
        banner.alpha_composite(made.crop((0, 0, 900, 120)))
        made.paste(banner, (0, 0))
        made.save(tmp_path / "b.png")
    page = rendered(tmp_path / "b.png")
    parsed = read_lines(page, reader).parsed
    assert parsed is not None
    assert parsed.text.split() == " ".join(NOTICE).split()


def test_a_scan_in_the_corner_of_a_page_that_is_too_large_is_not_blank(
    reader: LineReader, tmp_path: Path
) -> None:
    pages = faint.out_of_size(Workshop(packages=tmp_path))
    for name in ("corner-8000", "small-62"):
        made = next(page for page in pages if page.name == name)
        (tmp_path / "a.pdf").write_bytes(made.content)
        result = read_lines(rendered(tmp_path / "a.pdf"), reader)
        text = " ".join(result.parsed.text.split()) if result.parsed else ""
        assert (result.status, text) == (("doubtful", "") if name == "corner-8000" else ("ok", made.text))


Loss = Callable[[list[TextLine], Sequence[TextLine]], list[TextLine]]


class Forgetful(LineReader):
    """The shipped reader, which loses lines. losing: given the lines found and those that vanish, those that are left.

    gone: the left ends and the middles of what vanishes.
    """

    losing: Loss
    gone: Sequence[tuple[int, int]] = ()

    def find(self, darkness: Shades, of: Shades | None = None) -> list[TextLine]:
        """Returns the lines found but for those that vanish."""
        found = super().find(darkness, of)
        return self.losing(found, [line for line in found if (line.left, round(line.middle)) in self.gone])


def cut(begin: float, end: float) -> Loss:
    """Returns what leaves of the lines that vanish only the part between two places: shares of their width."""

    def losing(found: list[TextLine], gone: Sequence[TextLine]) -> list[TextLine]:
        parts = []
        for line in gone:
            first, last = (round(share * (line.right - line.left)) for share in (begin, end))
            baseline = line.baseline[first:last]
            parts.append(replace(line, left=line.left + first, right=line.left + last, baseline=baseline))
        return [*(line for line in found if line not in gone), *(part for part in parts if end > begin)]

    return losing


@pytest.fixture(scope="module")
def forgetful() -> Forgetful:
    reader = Forgetful.load(find_directory("small") / LINES)
    assert isinstance(reader, Forgetful)
    return reader


@pytest.mark.parametrize("losing", [cut(0, 0), cut(0, 0.5), cut(0.3, 1)])
def test_a_page_of_which_lines_were_not_found_is_whole(
    page: RenderedPage,
    result: PageResult,
    reader: LineReader,
    forgetful: Forgetful,
    losing: Loss,
) -> None:
    assert page.grey is not None
    found = reader.find(darkness_of(darkened(page.grey)))
    long = sorted(found, key=lambda line: line.left - line.right)[:2]
    forgetful.losing, forgetful.gone = losing, [(line.left, round(line.middle)) for line in long]
    lossy = read_lines(page, forgetful)
    assert lossy.parsed is not None
    assert result.parsed is not None
    assert (lossy.status, lossy.parsed.text) == ("ok", result.parsed.text)


@pytest.mark.parametrize("inks", [[BLACK, (190, 190, 190)], [BLACK, (255, 165, 0)]])
def test_a_pale_line_that_was_not_found_is_read(
    forgetful: Forgetful, tmp_path: Path, inks: list[tuple[int, ...]]
) -> None:
    page = picture_of(tmp_path / "a.png", WHITE, *inks)
    forgetful.losing, forgetful.gone = (
        (lambda found, gone: [line for line in found if abs(line.middle - 160) > 20]),
        [],
    )
    result = read_lines(page, forgetful)
    assert result.parsed is not None
    assert result.parsed.text.split() == " ".join(NOTICE).split()


@pytest.mark.parametrize(("lost", "status"), [(0, "ok"), (6, "doubtful")])
def test_a_page_that_lost_letters_within_a_line_is_doubtful(
    page: RenderedPage, monkeypatch: pytest.MonkeyPatch, reader: LineReader, lost: int, status: str
) -> None:
    decoded = reader._decoded
    monkeypatch.setattr(reader, "_decoded", lambda *of: [*(read := decoded(*of))[:9], *read[9 + lost :]])
    assert read_lines(page, reader).status == status


def test_a_page_that_is_odd_as_a_whole_names_all_its_lines(
    page: RenderedPage, monkeypatch: pytest.MonkeyPatch, reader: LineReader
) -> None:
    monkeypatch.setattr("pipeline.stages.read_lines.is_in_doubt", lambda *_: True)
    result = read_lines(page, reader)
    assert result.parsed is not None
    assert result.doubt is not None
    assert "(lines 1, 3, " in result.doubt
    assert f"{len(result.parsed.text.splitlines())} of its text)" in result.doubt


def test_a_page_of_which_a_fifth_is_in_no_line_is_doubtful(page: RenderedPage, reader: LineReader) -> None:
    assert page.grey is not None
    note = Image.new("L", (900, 420), 255)
    said = "Fetch the bread\nbefore eight and\nbring it to the hall\nby the church"
    ImageDraw.Draw(note).multiline_text((20, 20), said, 0, ImageFont.load_default(52))
    note = note.rotate(31, expand=True, fillcolor=255)
    made = Image.fromarray(np.pad(page.grey, ((0, note.height), (0, 0)), constant_values=255))
    made.paste(note, (0, page.grey.shape[0]))
    result = read_lines(replace(page, grey=np.asarray(made), height_px=made.height), reader)
    assert (result.status, result.doubt) == ("doubtful", "text stands on it that was not read")


def test_every_line_of_a_long_strip_is_read(page: RenderedPage, reader: LineReader) -> None:
    """A chat of 800 x 13,000 px: messages, and the small times below them."""
    made = Image.new("L", (800, 13000), 232)
    pen, face, small = ImageDraw.Draw(made), ImageFont.load_default(28), ImageFont.load_default(20)
    written = []
    for number in range(100):
        left, top = (30, 220)[number % 2], 20 + 130 * number
        said = (f"{NOTICE[number % 5]} {number}", f"{7 + number % 15}:{10 + number * 7 % 50}")
        pen.rounded_rectangle((left, top, left + 540, top + 110), 18, fill=255)
        pen.text((left + 24, top + 18), said[0], 20, face)
        pen.text((left + 450, top + 72), said[1], 100, small)
        written += said
    page = replace(page, grey=np.asarray(made), width_px=800, height_px=13000)
    result = read_lines(page, reader)
    assert result.parsed is not None
    read = result.parsed.text.splitlines()
    assert [line for line in written if line not in read] == []
    assert result.status == "ok"

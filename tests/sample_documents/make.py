"""Makes tests/samples and tests/truth anew: `python -m tests.sample_documents.make`."""

import io
from pathlib import Path

import pymupdf
import yaml
from PIL import Image

from tests.sample_documents import typeset, wear
from tests.sample_documents.typeset import Block

TESTS = Path(__file__).parents[1]
SAMPLES, TRUTH = TESTS / "samples", TESTS / "truth"
A4 = (595, 842)
LETTER = (612, 792)
TEXTS = yaml.safe_load(Path(__file__).with_name("texts.yaml").read_text(encoding="utf-8"))
Truth = list[list[str]]


def main() -> None:
    SAMPLES.mkdir(exist_ok=True)
    makers = {
        "report.pdf": report,
        "two-column.pdf": two_column,
        "scanned.pdf": scanned,
        "letter.png": letter,
        "photo.jpg": photo,
        "fax.tiff": fax,
    }
    for name, make in makers.items():
        for number, lines in enumerate(make(SAMPLES / name), 1):
            folder = TRUTH / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}.txt").write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def report(path: Path) -> Truth:
    document = pymupdf.open()
    fonts, truth = typeset.fonts("serif"), []
    for number, blocks in enumerate(TEXTS["report"], 1):
        sheet = typeset.Sheet(document.new_page(width=A4[0], height=A4[1]), fonts)
        sheet.set_blocks(blocks, (80, 78, 515, 780))
        sheet.set_blocks([{"small": str(number)}], (295, 786, 320, 830))
        truth.append(sheet.truth)
    _save(document, path, "Annual report")
    return truth


def two_column(path: Path) -> Truth:
    document = pymupdf.open()
    fonts, truth = typeset.fonts("serif"), []
    columns = iter(TEXTS["article"])
    for first in columns:
        sheet = typeset.Sheet(document.new_page(width=LETTER[0], height=LETTER[1]), fonts, body_pt=10)
        sheet.set_blocks(
            [{"title": TEXTS["article_title"]}, {"small": TEXTS["article_author"]}], (56, 58, 560, 130)
        )
        sheet.set_blocks(first, (56, 130, 296, 760))
        sheet.set_blocks(next(columns), (320, 130, 560, 760))
        truth.append(sheet.truth)
    _save(document, path, TEXTS["article_title"])
    return truth


def scanned(path: Path) -> Truth:
    """A sheet scanned on both sides; its back is blank."""
    front, lines = _picture(TEXTS["contract"], A4, "serif", dpi=170, body_pt=12)
    back = Image.new("L", front.size, 255)
    document = pymupdf.open()
    for number, (side, degrees) in enumerate([(front, 0.7), (back, -0.4)]):
        data = io.BytesIO()
        wear.scan(side, degrees, seed=number).save(data, "JPEG", quality=55)
        page = document.new_page(width=A4[0], height=A4[1])
        page.insert_image(page.rect, stream=data.getvalue())
    _save(document, path, "scan0001")
    return [lines, []]


def letter(path: Path) -> Truth:
    picture, lines = _picture(TEXTS["letter"], A4, "sans", dpi=150)
    picture.quantize(16).save(path, optimize=True, dpi=(150, 150))
    return [lines]


def photo(path: Path) -> Truth:
    """A photo taken with the camera held sideways: the EXIF tag says how to turn it."""
    picture, lines = _picture(TEXTS["notice"], (430, 560), "sans", dpi=170, body_pt=13)
    exif = Image.Exif()
    exif[0x0112] = 6
    sideways = wear.photograph(picture, seed=5).transpose(Image.Transpose.ROTATE_90)
    sideways.save(path, "JPEG", quality=72, exif=exif)
    return [lines]


def fax(path: Path) -> Truth:
    frames, truth = [], []
    for number, blocks in enumerate(TEXTS["fax"]):
        picture, lines = _picture(blocks, A4, "sans", dpi=204, body_pt=12)
        frames.append(wear.fax(picture, seed=number))
        truth.append(lines)
    frames[0].save(path, save_all=True, append_images=frames[1:], compression="group4", dpi=(204, 204))
    return truth


def _picture(
    blocks: list[Block], size_pt: tuple[int, int], family: str, dpi: int, body_pt: float = 11
) -> tuple[Image.Image, list[str]]:
    """Returns the blocks on one page as pixels, and the lines set."""
    document = pymupdf.open()
    page = document.new_page(width=size_pt[0], height=size_pt[1])
    sheet = typeset.Sheet(page, typeset.fonts(family), body_pt=body_pt)
    margin = size_pt[0] * 0.12
    sheet.set_blocks(blocks, (margin, margin, size_pt[0] - margin, size_pt[1] - margin / 2))
    pixmap = page.get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY)
    return Image.frombytes("L", (pixmap.width, pixmap.height), pixmap.samples), sheet.truth


def _save(document: pymupdf.Document, path: Path, title: str) -> None:
    # Fixed dates and no random id: making the samples twice gives the same bytes.
    document.set_metadata({"title": title, "creationDate": "D:20240105", "modDate": "D:20240105"})
    document.subset_fonts()
    document.save(path, garbage=4, deflate=True, no_new_id=True)


if __name__ == "__main__":
    main()

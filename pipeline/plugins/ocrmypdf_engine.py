"""The OCR engine `ocrbatch` of OCRmyPDF: ocrmypdf --ocr-engine ocrbatch in.pdf out.pdf.

OCRmyPDF finds it by its entry point, and imports it at every start: nothing heavy is imported before a page is read.

Source: OCRmyPDF 17's pluginspec.OcrEngine; the tree of elements as its builtin_plugins/null_ocr.py makes it.
"""

import functools
import logging
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, ElementTree, SubElement

from ocrmypdf import hookimpl
from ocrmypdf.pluginspec import OcrEngine, OrientationConfidence
from PIL import Image

if TYPE_CHECKING:
    from pipeline.api.image_reader import ImageReader
    from pipeline.api.page_text import PageText, Word

NAME = "ocrbatch"
LOGGER = logging.getLogger(__name__)
# OCRmyPDF turns a page from --rotate-pages-threshold on, 14 if nobody says otherwise; 15 is "very confident".
_SURE, _IN_DOUBT = 15.0, 5.0
# Tesseract's names of the languages whose letters the model knows.
_READ = {
    "afr", "ast", "bos", "bre", "cat", "ces", "cos", "cym", "dan", "deu", "eng", "epo", "est", "eus", "fao",
    "fin", "fra", "fry", "gla", "gle", "glg", "hrv", "hun", "isl", "ita", "lat", "lav", "lit", "ltz", "mlt",
    "nld", "nor", "oci", "pol", "por", "ron", "slk", "slv", "spa", "sqi", "srp_latn", "swe", "tur",
}  # fmt: skip


class OcrbatchEngine(OcrEngine):  # type: ignore[misc]
    """Reads pages with the shipped line reader, in OCRmyPDF's own worker processes."""

    @staticmethod
    def version() -> str:
        """Returns the version of ocrbatch."""
        try:
            return metadata.version("ocrbatch")
        except metadata.PackageNotFoundError:
            return "unknown"

    @staticmethod
    def creator_tag(options: Any) -> str:
        """Returns the name that stands in the PDF's metadata."""
        return f"{NAME} {OcrbatchEngine.version()}"

    def __str__(self) -> str:
        return self.creator_tag(None)

    @staticmethod
    def languages(options: Any) -> set[str]:
        """Returns no language: any is accepted, for the model reads all of Latin script alike."""
        return set()

    @staticmethod
    def get_orientation(input_file: Path, options: Any) -> OrientationConfidence:
        """Returns how far a page is turned clockwise, which OCRmyPDF turns back; in doubt what else it may be."""
        from pipeline.api.image_reader import orientation_of

        with Image.open(input_file) as image:
            found = orientation_of(image)
        if found.runner_up_deg is None:
            return OrientationConfidence(angle=-found.angle_deg % 360, confidence=_SURE)
        return OrientationConfidence(angle=-found.runner_up_deg % 360, confidence=_IN_DOUBT)

    @staticmethod
    def supports_generate_ocr() -> bool:
        """Returns that it hands over words and boxes, not files."""
        return True

    @staticmethod
    def generate_ocr(input_file: Path, options: Any, page_number: int = 0) -> tuple[Any, str]:
        """Returns the page as a tree of OCRmyPDF's OcrElement, and its text. page_number: counted from 0.

        With a time-out of 0, which is how users of OCRmyPDF say that pages are turned but not read, there is no tree.
        """
        if options is not None and options.tesseract.timeout == 0:
            return None, ""
        with Image.open(input_file) as image:
            dpi = float(image.info.get("dpi", (72.0,))[0])
            page = _reader().read(image, path=str(input_file), number=page_number + 1, dpi=dpi)
        if page.problem is not None:
            LOGGER.warning("page %d is %s: %s", page.number, page.status, page.problem)
        return tree(page), page.text

    @staticmethod
    def generate_hocr(input_file: Path, output_hocr: Path, output_text: Path, options: Any) -> None:
        """Writes the page as hOCR, which OCRmyPDF's own interface for hOCR asks for, and its text."""
        page, text = OcrbatchEngine.generate_ocr(input_file, options)
        document = Element("html", xmlns="http://www.w3.org/1999/xhtml")
        system = {"name": "ocr-system", "content": OcrbatchEngine.creator_tag(options)}
        SubElement(SubElement(document, "head"), "meta", system)
        body = SubElement(document, "body")
        if page is None:
            with Image.open(input_file) as image:
                title = f"bbox 0 0 {image.width} {image.height}"
            SubElement(body, "div", {"class": "ocr_page", "title": title})
        else:
            body.append(hocr(page))
        ElementTree(document).write(output_hocr, encoding="utf-8", xml_declaration=True)
        output_text.write_text(text, encoding="utf-8")

    @staticmethod
    def generate_pdf(input_file: Path, output_pdf: Path, output_text: Path, options: Any) -> None:
        """Raises NotImplementedError: check_options has OCRmyPDF make the text layer."""
        raise NotImplementedError


@hookimpl  # type: ignore[untyped-decorator]
def add_options(parser: ArgumentParser) -> None:
    """Adds the engine's name to those that --ocr-engine takes; argparse itself has no way to do so."""
    for action in parser._actions:
        if "--ocr-engine" in action.option_strings and action.choices is not None:
            action.choices = [*action.choices, NAME]


@hookimpl  # type: ignore[untyped-decorator]
def check_options(options: Any) -> None:
    """Tells what has no effect or cannot be read, and leaves the text layer to OCRmyPDF."""
    if options.ocr_engine != NAME:
        return
    if options.pdf_renderer == "sandwich":
        LOGGER.warning("--pdf-renderer sandwich has no effect on ocrbatch; the text layer is as by default")
        options.pdf_renderer = "fpdf2"
    if unread := sorted(set(options.languages) - _READ):
        LOGGER.warning(
            "ocrbatch reads print in Latin script, of Europe; it cannot read %s", ", ".join(unread)
        )
    if options.tesseract.timeout not in (0, type(options.tesseract)().timeout):
        LOGGER.warning("--tesseract-timeout has no effect on ocrbatch; --ocr-engine none reads nothing")


@hookimpl  # type: ignore[untyped-decorator]
def get_ocr_engine(options: Any) -> OcrbatchEngine | None:
    """Returns the engine where it was asked for by name."""
    return OcrbatchEngine() if getattr(options, "ocr_engine", None) == NAME else None


def tree(page: "PageText") -> Any:
    """Returns the page's words in lines, as OCRmyPDF's OcrElement. Words without a place join the one beside them."""
    from ocrmypdf.hocrtransform import BoundingBox, OcrClass, OcrElement

    def element(kind: str, words: Sequence["Word"], **more: Any) -> Any:
        boxes = [word.box for word in words if word.box is not None]
        left, top = min(box[0] for box in boxes), min(box[1] for box in boxes)
        right, bottom = max(box[2] for box in boxes), max(box[3] for box in boxes)
        return OcrElement(
            ocr_class=kind, bbox=BoundingBox(left=left, top=top, right=right, bottom=bottom), **more
        )

    lines = []
    # Counter-clockwise, as hOCR has it: how far the text of a page was turned that was turned back to be read.
    turned = {"textangle": float(page.rotation_deg)} if page.rotation_deg else {}
    for words in lines_of(page):
        children = [
            element(OcrClass.WORD, [word], text=word.text, confidence=word.confidence) for word in words
        ]
        lines.append(element(OcrClass.LINE, words, children=children, **turned))
    whole = BoundingBox(left=0, top=0, right=page.width_px, bottom=page.height_px)
    paragraphs = [OcrElement(ocr_class=OcrClass.PARAGRAPH, bbox=whole, children=lines)] if lines else []
    return OcrElement(
        ocr_class=OcrClass.PAGE, bbox=whole, dpi=page.dpi, page_number=page.number - 1, children=paragraphs
    )


def hocr(element: Any) -> Element:
    """Returns an OcrElement with all that is in it as hOCR, as OCRmyPDF's HocrParser reads it."""
    box = element.bbox
    title = f"bbox {box.left:.0f} {box.top:.0f} {box.right:.0f} {box.bottom:.0f}"
    if element.dpi is not None:
        title += f"; scan_res {element.dpi:.0f} {element.dpi:.0f}"
    if element.textangle is not None:
        title += f"; textangle {element.textangle:.0f}"
    if element.confidence is not None:
        title += f"; x_wconf {100 * element.confidence:.0f}"
    tag = {"ocr_page": "div", "ocr_par": "p"}.get(element.ocr_class, "span")
    made = Element(tag, {"class": element.ocr_class, "title": title})
    made.text = element.text
    made.extend(map(hocr, element.children))
    return made


def lines_of(page: "PageText") -> Iterator[list["Word"]]:
    """Yields the words of each line of the text, all with boxes; lines of which no word has one are left out."""
    words = iter(page.words)
    for line in page.text.splitlines():
        placed: list[Word] = []
        waiting: list[str] = []
        for _ in line.split():
            word = next(words, None)
            if word is None:
                return
            if word.box is None and placed:
                placed[-1] = replace(placed[-1], text=f"{placed[-1].text} {word.text}")
            elif word.box is None:
                waiting.append(word.text)
            else:
                placed.append(replace(word, text=" ".join([*waiting, word.text])))
                waiting = []
        if placed:
            yield placed


@functools.cache
def _reader() -> "ImageReader":
    """Returns this process's reader, on one thread: OCRmyPDF itself reads several pages at once."""
    from pipeline.api.image_reader import ImageReader

    return ImageReader(threads=1)

"""The OCR engine `ocrbatch` of docling, as its options OcrbatchOptions select it.

docling finds it by its entry point, where it is allowed to look (allow_external_plugins).

Source: docling 2's BaseOcrModel; rectangles and cells of a page as its RapidOcrModel has them.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from docling.datamodel.accelerator_options import AcceleratorOptions
from docling.datamodel.pipeline_options import OcrOptions
from docling.models.base_ocr_model import BaseOcrModel
from docling.utils.profiling import TimeRecorder
from docling_core.types.doc import BoundingBox, CoordOrigin
from docling_core.types.doc.page import BoundingRectangle, TextCell
from pydantic import Field

from pipeline.api.image_reader import ImageReader
from pipeline.api.page_text import PageText


class OcrbatchOptions(OcrOptions):  # type: ignore[misc]
    """Selects the engine. lang: is not looked at, for the model reads all of Latin script alike."""

    kind: ClassVar[Literal["ocrbatch"]] = "ocrbatch"
    canonicalize_lang: ClassVar[bool] = False
    lang: list[str] = Field(default_factory=list)


class OcrbatchModel(BaseOcrModel):  # type: ignore[misc]
    """Reads pages with the shipped line reader, on the CPU, and hands over the words where docling asks for them.

    docling's rectangles cut close, through letters; a page is read whole, and a word is there or not.
    """

    def __init__(
        self,
        enabled: bool,
        artifacts_path: Path | None,
        options: OcrbatchOptions,
        accelerator_options: AcceleratorOptions,
    ) -> None:
        super().__init__(
            enabled=enabled,
            artifacts_path=artifacts_path,
            options=options,
            accelerator_options=accelerator_options,
        )
        self._reader = ImageReader() if enabled else None

    def __call__(self, conv_res: Any, page_batch: Iterable[Any]) -> Iterator[Any]:
        """Yields the pages, with what was read on them among their cells."""
        for page in page_batch:
            if self._reader is not None and page._backend.is_valid():
                with TimeRecorder(conv_res, "ocr"):
                    rects = [rect for rect in self.get_ocr_rects(page) if rect.area() > 0]
                    scale = self.options.scale
                    image = page._backend.get_page_image(scale=scale) if rects else None
                    cells = [] if image is None else list(cells_of(self._reader.read(image), rects, scale))
                    self.post_process_cells(cells, page, conv_res)
            yield page

    @classmethod
    def get_options_type(cls) -> type[OcrOptions]:
        """Returns the options that select this engine."""
        return OcrbatchOptions


def cells_of(text: PageText, rects: Sequence[BoundingBox], scale: float) -> Iterator[TextCell]:
    """Yields a cell for each word of a page whose middle is in a rectangle. rects: in points from the page's top left.

    scale: pixels a point.
    """
    for number, word in enumerate(text.words):
        if word.box is None:
            continue
        x0, y0, x1, y1 = (edge / scale for edge in word.box)
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
        if not any(rect.l <= x <= rect.r and rect.t <= y <= rect.b for rect in rects):
            continue
        place = BoundingBox.from_tuple(coord=(x0, y0, x1, y1), origin=CoordOrigin.TOPLEFT)
        sure = word.confidence if word.confidence is not None else text.confidence
        yield TextCell(
            index=number,
            text=word.text,
            orig=word.text,
            from_ocr=True,
            confidence=1.0 if sure is None else sure,
            rect=BoundingRectangle.from_bounding_box(place),
        )


def ocr_engines() -> dict[str, list[type[BaseOcrModel]]]:
    """Returns the engines of this plug-in, as docling asks for them."""
    return {"ocr_engines": [OcrbatchModel]}

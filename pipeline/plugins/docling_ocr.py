"""The OCR engine `ocrbatch` of docling, as its options OcrbatchOptions select it.

docling finds it by its entry point, where it is allowed to look (allow_external_plugins).

Source: docling 2's BaseOcrModel; rectangles and cells of a page as its RapidOcrModel has them.
"""

from collections.abc import Iterable, Iterator
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
    """Reads the parts of pages that docling asks for with the shipped line reader, on the CPU."""

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
                    cells = [cell for rect in self.get_ocr_rects(page) for cell in self._cells(page, rect)]
                    self.post_process_cells(cells, page, conv_res)
            yield page

    @classmethod
    def get_options_type(cls) -> type[OcrOptions]:
        """Returns the options that select this engine."""
        return OcrbatchOptions

    def _cells(self, page: Any, rect: BoundingBox) -> Iterator[TextCell]:
        assert self._reader is not None, "only where it is enabled"
        if rect.area() == 0:
            return
        scale = self.options.scale
        image = page._backend.get_page_image(scale=scale, cropbox=rect)
        yield from cells_of(self._reader.read(image), rect, scale)


def cells_of(text: PageText, rect: BoundingBox, scale: float) -> Iterator[TextCell]:
    """Yields a cell for each word with a box. rect: where the picture lies on the page, in points from its top left.

    scale: pixels a point.
    """
    for number, word in enumerate(text.words):
        if word.box is None:
            continue
        x0, y0, x1, y1 = (edge / scale for edge in word.box)
        box = (x0 + rect.l, y0 + rect.t, x1 + rect.l, y1 + rect.t)
        place = BoundingBox.from_tuple(coord=box, origin=CoordOrigin.TOPLEFT)
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

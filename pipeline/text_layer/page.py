"""Extracts and judges the text layers of PDF pages. Runs in workers; never imports torch."""

import logging
import time
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ocr.orientation.detect import Angle, Orientation
from ocr.types import ParsedText
from pipeline.documents import orientation, pdf
from pipeline.documents.damage import complaints, page_losses
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.script import main_script
from pipeline.documents.settings import RenderSettings
from pipeline.text_layer.extract.markdown import find_links
from pipeline.text_layer.extract.places import composed, settled, written_in
from pipeline.text_layer.extract.spans import read_spans
from pipeline.text_layer.extract.structure import structured
from pipeline.text_layer.extract.transcript import as_parsed
from pipeline.text_layer.trust.covered import mapped, uncovered
from pipeline.text_layer.trust.ink import Drawn, Ink
from pipeline.text_layer.trust.letters import are_words
from pipeline.text_layer.trust.shapes import SeenFonts, in_doubt
from pipeline.text_layer.trust.verdict import (
    Evidence,
    Verdict,
    distrust_reason_if_unreadable,
    judge,
    shows_any,
)
from pipeline.types import TAKEN_LAST, EmbeddedPage, Layer, Page, RenderedPage
from storage.types import facts_of

LOGGER = logging.getLogger("ocrbatch")


def embedded_page(
    page: Page,
    settings: RenderSettings,
    documents: OpenDocuments,
    *,
    last: bool = False,
    partly: bool = False,
) -> EmbeddedPage | None:
    """Returns the page with its text layer instead of views, or None where that cannot be trusted.

    The page's size is that at settings.dpi, or at the 144 dpi at which pages are laid out. last: nothing else is left,
    so that text which another program recognised under a scan is good enough. partly: so is a sound layer that does
    not hold all that the page shows. Raises: DocumentError, OSError.
    """
    start = time.perf_counter()
    if page.kind != "pdf":
        return None
    dpi = settings.dpi or float(pdf.LAYOUT_DPI)
    seen = None if last else _seen_fonts(page.sha256)
    with documents.opened(page, settings.passwords) as document:
        found, angle_deg = taken(
            document, page.page_index, settings, dpi, last=last, partly=partly, seen=seen
        )
        if found is None:
            return None
        missing = page_losses.missing_message(document, page.page_index, from_pixels=False)
        with pdf.turned(document, page.page_index, angle_deg):
            width_px, height_px = _size_px(document.load_page(page.page_index), dpi / pdf.POINTS_PER_INCH)
    return EmbeddedPage(
        page=page,
        layer=found,
        width_px=width_px,
        height_px=height_px,
        dpi=dpi,
        seconds={"layer": time.perf_counter() - start},
        rotation_deg=angle_deg,
        missing=missing,
    )


def taken(
    document: Any,
    index: int,
    settings: RenderSettings,
    dpi: float = pdf.LAYOUT_DPI,
    *,
    last: bool = False,
    partly: bool = False,
    seen: SeenFonts | None = None,
) -> tuple[Layer | None, Angle]:
    """Returns the layer that replaces a reading of a page, None where none may, and how the page is turned for it.

    The rotation is the clockwise one with which the page is drawn, as far as its text tells. last, partly: see
    `embedded_page`. document, seen: see `judged`. Raises: PageRenderError.
    """
    angle_deg: Angle = 0
    found = judged(document, index, dpi, last=last, seen=seen)
    if found is not None and not (found.is_trustworthy or found.is_partial):
        angle_deg = (orientation.declared(document, index, settings) or Orientation()).angle_deg
        if angle_deg:
            with pdf.turned(document, index, angle_deg):
                found = judged(document, index, dpi, last=last, seen=seen)
    if found is None or not (found.is_trustworthy or (partly and found.is_partial)):
        return None, angle_deg
    return (None if found.in_doubt and not partly else found), angle_deg


@lru_cache(maxsize=16)
def _seen_fonts(sha256: str) -> SeenFonts:
    """Returns what this process knows of a document's typefaces."""
    return SeenFonts()


def with_script(ready: RenderedPage) -> RenderedPage:
    """Returns the page with the script of its text layer, if that consists of words."""
    text = ready.text_layer or ""
    return replace(ready, script=main_script(text) if are_words(text) else None)


def with_layer(ready: RenderedPage, settings: RenderSettings, documents: OpenDocuments) -> RenderedPage:
    """Returns the page with its text layer judged, and the layer's script; unchanged where there is no layer.

    Where layers are taken last, text that another program recognised under a scan is good enough. The page needs no
    views. Raises: DocumentError, PageRenderError, OSError.
    """
    found, layer = _judged_as_drawn(ready, settings, documents, last=settings.text_layer in TAKEN_LAST)
    return ready if layer is None else replace(found, layer=layer, script=layer.script)


def with_seen(ready: RenderedPage, settings: RenderSettings, documents: OpenDocuments) -> RenderedPage:
    """Returns the page with the words of its text layer where that is trusted, instead of its pixels to find them on.

    Raises: DocumentError, OSError.
    """
    layer = ready.layer
    if layer is None:
        ready, layer = _judged_as_drawn(ready, settings, documents)
    if layer is None or not layer.is_trustworthy:
        return ready
    return replace(ready, seen=layer.words, ink=None)


def _judged_as_drawn(
    ready: RenderedPage, settings: RenderSettings, documents: OpenDocuments, *, last: bool = False
) -> tuple[RenderedPage, Layer | None]:
    """Returns a page with the time that it took, and its layer as it was drawn: rotated, and at its resolution."""
    page = ready.page
    if not ready.text_layer or page.kind != "pdf" or ready.dpi is None:
        return ready, None
    start = time.perf_counter()
    # The layer must be of the content that was drawn.
    with (
        documents.opened(page, settings.passwords) as document,
        pdf.turned(document, page.page_index, ready.rotation_deg),
    ):
        layer = judged(document, page.page_index, ready.dpi, last=last)
    seconds = {**ready.seconds, "layer": ready.seconds.get("layer", 0.0) + time.perf_counter() - start}
    return replace(ready, seconds=seconds), layer


def judged(
    document: Any, index: int, dpi: float, *, last: bool = False, seen: SeenFonts | None = None
) -> Layer | None:
    """Returns a page's layer with boxes in pixels at dpi; None if there is none or it cannot be extracted.

    document: a pymupdf document. last: trusts more easily, as there is nothing else. seen: of the document's typefaces;
    None compares none with what is drawn. MuPDF's warnings about the page
    remain available afterwards (pipeline.documents.damage.complaints).
    """
    complaints.forget()
    try:
        return _judge(document.load_page(index), dpi / pdf.POINTS_PER_INCH, last=last, seen=seen)
    except Exception as error:  # C parsers raise anything, and the page can be read without its layer
        LOGGER.debug("text layer of page %d: %s", index + 1, error)
        return None


def _evidence(page: Any) -> Evidence | None:
    """Returns what a page's layer holds and what the page shows; None where there is no layer."""
    display = page.get_displaylist()
    spans = composed(read_spans(display))
    if not any(span.glyphs for span in spans):
        return None
    ink, drawn = Ink.of(display), Drawn.of(page)
    seen = uncovered(spans, drawn, ink)
    if not seen.spans:
        return None
    spans = settled(seen.spans, (*written_in(page), *seen.rewritten))
    kept, num_unmapped, num_lost = mapped(spans)
    return Evidence(
        spans=kept or spans,
        display=display,
        ink=ink,
        drawn=drawn,
        num_unmapped=num_unmapped,
        num_lost=num_lost if kept else 0,
    )


def _judge(page: Any, px_per_pt: float, *, last: bool, seen: SeenFonts | None) -> Layer | None:
    evidence = _evidence(page)
    if evidence is None:
        return None
    verdict = Verdict(reason=distrust_reason_if_unreadable(evidence)) if last else judge(evidence)
    is_taken = not verdict.reason or verdict.is_partial
    own, tables = structured(page, evidence.spans) if is_taken else (evidence.spans, [])
    links = find_links(page) if is_taken else ()
    parsed, parts = as_parsed(own, px_per_pt, _size_px(page, px_per_pt), links, tables)
    return Layer(
        **facts_of(parsed, ParsedText),
        parts=parts,
        in_doubt=in_doubt(evidence.spans, evidence.display, seen) if is_taken and seen is not None else (),
        is_trustworthy=not verdict.reason,
        is_partial=verdict.is_partial,
        reason=verdict.reason,
        script=main_script(parsed.text),
        is_visible=shows_any(evidence),
    )


def _size_px(page: Any, px_per_pt: float) -> tuple[int, int]:
    return max(1, round(page.rect.width * px_per_pt)), max(1, round(page.rect.height * px_per_pt))

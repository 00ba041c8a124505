from dataclasses import replace
from pathlib import Path

import pymupdf
import pytest

from pipeline.documents.file_access import stamp_of
from pipeline.documents.settings import RenderSettings, TileSettings
from pipeline.ingest.workers import worker
from pipeline.ingest.workers.worker import layer_task, render_task
from pipeline.outcome.results import embedded_result
from pipeline.text_layer import page as layer_page
from pipeline.text_layer.extract.spans import read_spans
from pipeline.text_layer.page import judged
from pipeline.text_layer.trust.letters import width_fit
from pipeline.text_layer.trust.shapes import SeenFonts
from pipeline.types import EmbeddedPage, LayerUse, Page, RenderedPage
from storage.types import PageError

TESTS = Path(__file__).parents[2]
SAMPLES = TESTS / "samples"
SENTENCE = "The harbour lay quiet in the early light, and the boats were still heavy with their catch. "


def page_of(path: Path) -> Page:
    import hashlib

    return Page(
        path=str(path), sha256=hashlib.sha256(path.read_bytes()).hexdigest(), kind="pdf", page_index=0
    )


def ready(path: Path, use: LayerUse) -> object:
    render = replace(RenderSettings(), text_layer=use)
    return render_task(page_of(path), render, TileSettings(mode="tiny"))


def asked(found: object) -> RenderedPage | PageError:
    """Returns the outcome for a rendered page whose layer is asked for afterwards."""
    assert isinstance(found, RenderedPage)
    assert (found.layer, "layer" in found.seconds) == (None, False), "nobody asked before"
    return layer_task(found.without_views(), RenderSettings(text_layer="fallback"))


def written(path: Path, text: str = SENTENCE * 6, **how: object) -> Path:
    with pymupdf.open() as document:
        page = document.new_page(width=400, height=600)
        page.insert_textbox(pymupdf.Rect(50, 50, 350, 550), text, **{"fontsize": 10, **how})
        document.save(path)
    return path


@pytest.mark.parametrize("name", ["report.pdf", "two-column.pdf"])
def test_a_good_layer_stands_in_for_a_reading(name: str) -> None:
    found = ready(SAMPLES / name, "prefer")
    assert isinstance(found, EmbeddedPage)
    truth = (TESTS / "truth" / name / "1.txt").read_text("utf-8")
    assert found.layer.text.split() == truth.split()
    assert found.layer.script == "Latn"
    assert found.num_bytes == 0


def test_its_result_has_blocks_in_page_pixels() -> None:
    found = ready(SAMPLES / "report.pdf", "prefer")
    assert isinstance(found, EmbeddedPage)
    result = embedded_result(found)
    assert (result.status, result.source, result.confidence) == ("embedded", "layer", None)
    assert result.parsed is not None
    assert result.dpi == 144
    assert result.parsed.text == "\n\n".join(block.text for block in result.parsed.blocks)
    for block in result.parsed.blocks:
        x0, y0, x1, y1 = block.box_px or (0, 0, 0, 0)
        assert 0 <= x0 < x1 <= found.width_px
        assert 0 <= y0 < y1 <= found.height_px
    assert {timing.stage for timing in result.timings} == {"layer"}


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"render_mode": 3}, "invisible"),
        ({"color": (1, 1, 1)}, "cannot be seen"),
        ({"fontsize": 0.5}, "invisible"),
        ({"fill_opacity": 0.0, "stroke_opacity": 0.0}, "invisible"),
        ({"rotate": 90}, "left to right"),
        ({"text": "Xkqz vwpj qxzk jvwq zzkx. " * 12}, "do not form words"),
        ({"text": "(cid:12)(cid:44)(cid:9) " * 12}, "no meaning"),
        ({"text": "???? ?????? ??? ?????????? " * 12}, "no meaning"),
        ({"text": "eeee eeeee ee eeeee eeeeee " * 12}, "letters are 'e'"),
        ({"text": "Ã©tÃ© Ã  la plage, trÃ¨s Ã¢gÃ©e. " * 8}, "decoded wrongly"),
        ({"text": "l i k e t h i s o n e " * 10}, "single letters"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, how: dict[str, object], reason: str) -> None:
    path = written(tmp_path / "a.pdf", **how)  # type: ignore[arg-type]
    with pymupdf.open(path) as document:
        layer = judged(document, 0, 144)
    assert layer is not None
    assert not layer.is_trustworthy
    assert reason in layer.reason


def test_a_scan_with_a_hidden_layer_is_read_unless_that_fails(tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    with pymupdf.open(written(tmp_path / "a.pdf")) as source, pymupdf.open() as document:
        page = document.new_page(width=400, height=600)
        page.insert_image(page.rect, pixmap=source[0].get_pixmap(dpi=150))
        page.insert_textbox(pymupdf.Rect(50, 50, 350, 550), SENTENCE * 6, fontsize=10, render_mode=3)
        document.save(path)
    assert isinstance(ready(path, "prefer"), RenderedPage)
    found = asked(ready(path, "fallback"))
    assert isinstance(found, RenderedPage)
    assert found.layer is not None
    assert found.layer.is_trustworthy
    assert found.layer.text.startswith("The harbour")


def test_a_page_with_a_picture_of_text_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mixed.pdf"
    with pymupdf.open(written(tmp_path / "a.pdf", SENTENCE * 3)) as document:
        pixmap = document[0].get_pixmap(dpi=150, clip=pymupdf.Rect(0, 0, 400, 120))
        document[0].insert_image(pymupdf.Rect(0, 400, 400, 520), pixmap=pixmap)
        document.save(path)
    found = ready(path, "prefer")
    assert isinstance(found, RenderedPage)
    assert found.layer is None
    with pymupdf.open(path) as document:
        layer = judged(document, 0, 144)
    assert layer is not None
    assert "does not hold" in layer.reason


@pytest.mark.parametrize("use", ["compare", "fallback"])
def test_a_page_that_is_read_brings_its_layer_at_once_or_when_asked(use: LayerUse) -> None:
    found = ready(SAMPLES / "report.pdf", use)
    if use == "fallback":
        found = asked(found)
    assert isinstance(found, RenderedPage)
    assert found.layer is not None
    assert found.layer.is_trustworthy
    assert "layer" in found.seconds


@pytest.mark.parametrize("use", ["fallback", "compare", "ignore"])
def test_a_page_whose_words_are_looked_for_brings_those_of_its_layer_or_its_pixels(use: LayerUse) -> None:
    def found(file: str) -> RenderedPage:
        render, layout = RenderSettings(text_layer=use), TileSettings(mode="tiny", words="lines")
        page = render_task(page_of(SAMPLES / file), render, layout)
        assert isinstance(page, RenderedPage)
        return page

    page = found("report.pdf")
    if use == "ignore":
        assert (page.seen, page.ink is None) == ((), False)
        return
    assert page.ink is None
    assert len(page.seen) > 100
    assert all(
        0 <= x0 < x1 <= page.width_px for x0, _, x1, _ in (word.box_px for word in page.seen if word.box_px)
    )
    assert page.seconds["layer"] > 0


@pytest.mark.parametrize("change", ["rewritten", "replaced", "gone"])
def test_a_layer_is_of_the_content_that_was_drawn(change: str, tmp_path: Path) -> None:
    path, settings = written(tmp_path / "a.pdf"), RenderSettings(text_layer="fallback")
    page = replace(page_of(path), stamp=stamp_of(path.stat()))
    found = render_task(page, settings, TileSettings(mode="tiny"))
    other = written(tmp_path / "b.pdf", "Something else altogether. " * 20)
    if change == "rewritten":
        path.write_bytes(other.read_bytes())
    elif change == "replaced":
        other.replace(path)
    else:
        path.unlink()
    if change != "rewritten":  # the worker that drew it has it open, whatever has its name
        found_there = asked(found)
        assert isinstance(found_there, RenderedPage)
        assert found_there.layer is not None
        assert found_there.layer.text.startswith("The harbour")
        worker._DOCUMENTS.close()
    error = asked(found)
    assert isinstance(error, PageError)
    assert (error.stage, error.category) == ("layer", "unreadable" if change == "gone" else "changed")


def test_a_scan_has_no_layer_to_ask_for() -> None:
    found = ready(SAMPLES / "scanned.pdf", "fallback")
    assert isinstance(found, RenderedPage)
    judged_page = asked(found)
    assert isinstance(judged_page, RenderedPage)
    assert (judged_page.layer, judged_page.script, judged_page.seconds) == (None, None, found.seconds)


def test_a_page_that_cannot_be_drawn_has_its_layer_at_once(tmp_path: Path) -> None:
    settings = RenderSettings(dpi=300, max_image_pixels=10_000, text_layer="fallback")
    page, tile = page_of(written(tmp_path / "a.pdf")), TileSettings(mode="tiny")
    found = render_task(page, settings, tile)
    assert isinstance(found, EmbeddedPage)
    assert found.instead_of is not None
    assert found.instead_of.category == "oversized"
    assert found.layer.text.startswith("The harbour")
    assert set(found.seconds) == {"layer"}
    assert isinstance(render_task(page, replace(settings, text_layer="ignore"), tile), PageError)


def in_a_typeface_without_meanings(path: Path) -> Path:
    """Chinese, of which a program finds no more than the characters' numbers: those of Thai letters."""
    typeface = pymupdf.Font("cjk")
    wanted = range(ord("ก"), ord("ฮ"))
    text = "".join(chr(code) for code in typeface.valid_codepoints() if typeface.has_glyph(code) in wanted)
    with pymupdf.open() as document:
        page = document.new_page(width=400, height=600)
        page.insert_font(fontname="F0", fontbuffer=typeface.buffer)
        page.insert_text((50, 100), text, fontname="F0", fontsize=7)
        for number in range(1, document.xref_length()):
            if document.xref_get_key(number, "ToUnicode")[0] != "null":
                document.xref_set_key(number, "ToUnicode", "null")
        document.save(path)
    return path


def test_characters_without_a_meaning_tell_no_script(tmp_path: Path) -> None:
    found = ready(in_a_typeface_without_meanings(tmp_path / "a.pdf"), "fallback")
    assert isinstance(found, RenderedPage)
    assert found.text_layer
    assert found.script is None


def test_a_script_other_than_latin_is_told(tmp_path: Path) -> None:
    text = "Ранним утром в гавани было тихо, и лодки ещё стояли тяжёлые от улова. " * 5
    found = ready(written(tmp_path / "a.pdf", text, fontname="china-s"), "fallback")
    assert isinstance(found, RenderedPage)
    assert found.script == "Cyrl"


def test_by_default_nothing_is_judged_but_the_script_is_told(tmp_path: Path) -> None:
    found = ready(SAMPLES / "report.pdf", "ignore")
    assert isinstance(found, RenderedPage)
    assert found.layer is None
    assert found.script == "Latn"
    assert "layer" not in found.seconds


def test_print_too_small_to_see_falls_back(tmp_path: Path) -> None:
    path = written(tmp_path / "a.pdf", fontsize=1.01)
    assert isinstance(ready(path, "ignore"), PageError | RenderedPage)


def test_drawn_widths_fit_the_characters() -> None:
    with pymupdf.open(SAMPLES / "report.pdf") as document:
        fit = width_fit(read_spans(document[0].get_displaylist()))
    assert fit is not None
    assert fit > 0.85


def on_its_side(path: Path, angle: int) -> Path:
    """Writes a page of 400 x 600 points that is upright once it is rotated clockwise by the angle."""
    with pymupdf.open(written(path.with_name("upright.pdf"))) as source, pymupdf.open() as document:
        width, height = (400, 600) if angle == 180 else (600, 400)
        page = document.new_page(width=width, height=height)
        page.show_pdf_page(page.rect, source, 0, rotate=angle)
        document.save(path)
    return path


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_a_layer_is_taken_from_a_page_that_is_set_sideways_as_a_whole(tmp_path: Path, angle: int) -> None:
    found = ready(on_its_side(tmp_path / "side.pdf", angle), "prefer")
    upright = ready(tmp_path / "upright.pdf", "prefer")
    assert isinstance(found, EmbeddedPage)
    assert isinstance(upright, EmbeddedPage)
    assert (found.width_px, found.height_px, found.layer.text) == (800, 1200, upright.layer.text)
    assert embedded_result(found).rotation_deg == angle
    for word, same in zip(found.layer.words, upright.layer.words, strict=True):
        assert word.box_px == pytest.approx(same.box_px, abs=1)
    with pymupdf.open(tmp_path / "side.pdf") as document:
        layer, turn_deg = layer_page.taken(document, 0, RenderSettings())
    assert (layer is None, turn_deg) == (False, angle)


def test_a_layer_that_is_compared_is_that_of_the_page_as_it_is_drawn(tmp_path: Path) -> None:
    found = ready(on_its_side(tmp_path / "side.pdf", 90), "compare")
    assert isinstance(found, RenderedPage)
    assert found.layer is not None
    assert (found.rotation_deg, found.layer.is_trustworthy) == (90, True)
    x0, y0, x1, y1 = found.layer.blocks[0].box_px or (0, 0, 0, 0)
    assert x0 < x1 <= found.width_px < found.height_px
    assert y1 - y0 < x1 - x0, "lines across the page"


def test_a_file_that_cannot_be_taken_apart_has_no_layer() -> None:
    assert judged(None, 0, 144) is None


def test_no_text_of_a_long_page_is_cut_off() -> None:
    """Of a page of the web that was printed to one page; drawn as a whole, its letters are too small to be compared."""
    document = pymupdf.open()
    shape = document.new_page(width=600, height=14_000).new_shape()
    for number in range(1100):
        text = f"{number:04} of the log that was kept of wind and tide on the quay, and of bread"
        shape.insert_text((40, 40 + 12 * number), text, fontsize=9)
    shape.commit()
    layer = judged(document, 0, 72.0, seen=SeenFonts())
    assert layer is not None
    assert layer.is_trustworthy
    assert not layer.in_doubt
    assert layer.text.count(" of the log that was kept") == 1100

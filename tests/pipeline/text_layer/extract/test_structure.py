"""Layers drawn in another order than that of reading: they are put in order, and lose nothing."""

import random
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pymupdf
import pytest

from pipeline.text_layer.extract.spans import read_spans
from pipeline.text_layer.extract.structure import is_scattered
from tests.pipeline.text_layer.extract.text_pages import PROSE, layer_of

Drawn = tuple[float, float, str]
HEAD: list[Drawn] = [
    (50, 60, "Northwind Traders"), (50, 74, "12 Harbour Lane"), (50, 88, "4021 Linz"),
    (330, 60, "Invoice number:"), (430, 60, "2031"), (330, 74, "Invoice date:"), (430, 74, "3 May 2024"),
    (330, 88, "Customer number:"), (430, 88, "77120"),
]  # fmt: skip
ITEMS: list[Drawn] = [
    (x, 200 + 18 * row, text)
    for row, cells in enumerate([
        ("Description", "Quantity", "Price", "Amount"), ("Oak table", "1", "420.00", "420.00"),
        ("Kitchen chair", "4", "85.50", "342.00"), ("Reading lamp", "2", "39.90", "79.80"),
        ("Delivery to the house", "1", "45.00", "45.00"),
    ])
    for x, text in zip((50, 250, 330, 410), cells, strict=True)
]  # fmt: skip
FOOT: list[Drawn] = [(50, 330, "Please pay within thirty days of receipt to the account named below.")]


def drawn(lines: Sequence[Drawn]) -> Any:
    def draw(page: Any) -> None:
        for x, y, text in lines:
            page.insert_text((x, y), text, fontsize=10)

    return draw


def in_disorder(seed: int) -> list[Drawn]:
    lines = [*HEAD, *ITEMS, *FOOT]
    random.Random(seed).shuffle(lines)
    return lines


@pytest.mark.parametrize(
    "lines",
    [[*FOOT, *reversed(ITEMS), *reversed(HEAD)], [*ITEMS, *FOOT, *HEAD], in_disorder(1), in_disorder(2)],
    ids=["from the foot up", "its head last", "shuffled", "otherwise"],
)
def test_an_invoice_drawn_in_any_order_is_read_in_order_with_its_table(lines: list[Drawn]) -> None:
    layer = layer_of(drawn(lines))
    assert layer.is_trustworthy
    [table] = [marked for marked in layer.parts if "Oak table" in marked]
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()]
    assert ["Kitchen chair", "4", "85.50", "342.00"] in rows
    at = [layer.text.index(text) for text in ("Northwind", "4021 Linz", "Oak table", "Please pay")]
    assert at == sorted(at)
    assert layer.text.index("Invoice date:") < layer.text.index("3 May 2024") < layer.text.index("77120")
    assert Counter("".join(layer.text.split())) == Counter(
        "".join("".join(text for *_, text in lines).split())
    )


def test_items_that_go_on_below_their_name_are_one_row_each() -> None:
    described = {
        "Oak table": "oiled, 180 x 90 cm",
        "Kitchen chair": "beech, with arms",
        "Reading lamp": "black",
    }
    lines = [*HEAD]
    for number, (x, y, text) in enumerate(ITEMS):
        lines.append((x, y + 14 * (number // 4), text))
        lines += [(x, y + 14 * (number // 4) + 12, described[text])] if text in described else []
    layer = layer_of(drawn([*lines, (50, 380, "Please pay within thirty days of receipt.")]))
    [table] = [marked for marked in layer.parts if "Oak table" in marked]
    [row] = [row for row in table.splitlines() if "Kitchen chair" in row]
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        "Kitchen chair beech, with arms", "4", "85.50", "342.00"
    ]  # fmt: skip


def test_bold_sums_and_heads_of_tables_are_no_headings() -> None:
    def draw(page: Any) -> None:
        page.insert_text((50, 60), "Rules of the house", fontname="hebo", fontsize=10)
        page.insert_text((50, 90), PROSE[:60], fontsize=10)
        for x, text in zip((50, 200, 350), ("Terms", "Due", "Paid"), strict=True):
            page.insert_text((x, 130), text, fontname="hebo", fontsize=10)
        page.insert_text((50, 160), PROSE[:60], fontsize=10)
        page.insert_text((50, 190), "Amount to be paid: 300.00 EUR", fontname="hebo", fontsize=10)

    heads = [part for part in layer_of(draw).parts if part.startswith("#")]
    assert heads == ["### Rules of the house"]


def test_boxes_of_words_are_where_they_are_drawn() -> None:
    ordered, scattered = (
        sorted((word.text, word.box_px) for word in layer_of(drawn(lines)).words if word.box_px)
        for lines in ([*HEAD, *ITEMS, *FOOT], in_disorder(3))
    )
    assert [text for text, _ in scattered] == [text for text, _ in ordered]
    edges = zip((e for _, box in scattered for e in box), (e for _, box in ordered for e in box), strict=True)
    assert max(abs(edge - other) for edge, other in edges) <= 4


def test_words_drawn_one_by_one_in_any_order_make_lines() -> None:
    words = list[Drawn]()
    for row in range(6):
        x = 50.0
        for word in PROSE[:30].split():
            words.append((x, 100.0 + 14 * row, word))
            x += pymupdf.get_text_length(f"{word} ", fontsize=10)
    random.Random(4).shuffle(words)
    assert layer_of(drawn(words)).text.split() == PROSE[:30].split() * 6


@pytest.mark.parametrize("texts", [("What was found", "What it costs"), ("Note: it is closed",)])
def test_bands_drawn_last_stand_where_they_are_seen(texts: Sequence[str]) -> None:
    """One jump back is enough: from the page's foot to a band or box with text in a gap of the column."""

    def draw(page: Any) -> None:
        for top in (80, 200, 320):
            page.insert_textbox((50, top, 450, top + 80), PROSE, fontsize=10)
        page.insert_text((50, 680), "Harbour Office, 12 Mill Lane", fontsize=8)
        for number, text in enumerate(texts):
            page.draw_rect((40, 165 + 120 * number, 460, 190 + 120 * number), color=None, fill=(0, 0.2, 0.6))
            page.insert_text((50, 182 + 120 * number), text, fontsize=11, color=(1, 1, 1))

    layer = layer_of(draw)
    expected = [*(f"{PROSE}{text}" for text in (*texts, "", "")[:3]), "Harbour Office, 12 Mill Lane"]
    assert layer.text.split() == " ".join(expected).split()


def test_what_is_set_in_order_stays_as_it_was_drawn() -> None:
    def scattered(draw: Any) -> bool:
        with pymupdf.open() as made:
            page = made.new_page(width=500, height=700)
            draw(page)
            return is_scattered(read_spans(page.get_displaylist()))

    def columns(page: Any) -> None:
        for x in (50, 270):
            page.insert_textbox((x, 50, x + 190, 650), PROSE * 4, fontsize=9)

    assert not scattered(columns)
    assert not scattered(drawn([*HEAD, *ITEMS, *FOOT]))
    assert not scattered(drawn([*HEAD[1:], *ITEMS, *FOOT, HEAD[0]]))  # whose rows are in order
    assert scattered(drawn(in_disorder(1)))

    def turned(page: Any) -> None:
        drawn(in_disorder(1))(page)
        page.insert_text((480, 400), "Printed in Linz", rotate=90)

    assert not scattered(turned)


@pytest.mark.slow
def test_a_plan_of_thousands_of_labels_takes_seconds() -> None:
    rng = random.Random(5)
    labels = [(rng.uniform(20, 400), rng.uniform(20, 680), f"Valve {number}") for number in range(2000)]
    start = time.process_time()
    layer = layer_of(drawn(labels))
    assert time.process_time() - start < 60  # a tenth of it on a calm core
    assert "Valve 1999" in layer.text

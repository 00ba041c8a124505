from pathlib import Path

import pymupdf

from tests.benchmarks.quality.invoices import chosen, facts_of, measured

ITEM = (
    "<r:IncludedSupplyChainTradeLineItem><r:Product><r:Name>Oak table</r:Name></r:Product>"
    "<r:NetPriceProductTradePrice><r:ChargeAmount>1420.0000</r:ChargeAmount></r:NetPriceProductTradePrice>"
    "<r:BilledQuantity>2</r:BilledQuantity><r:LineTotalAmount>2840.00</r:LineTotalAmount>"
    "</r:IncludedSupplyChainTradeLineItem>"
)
ADDRESS = "<r:PostalTradeAddress><r:LineOne>12 Harbour Lane</r:LineOne></r:PostalTradeAddress>"


def test_items_are_compared_with_the_xml_that_an_invoice_carries(tmp_path: Path) -> None:
    with pymupdf.open() as document:
        page = document.new_page()
        for x, text in zip((50, 200, 300, 400), ("Oak table", "2", "1.420,00", "2.840,00"), strict=True):
            page.insert_text((x, 200), text)
        document.embfile_add("factur-x.xml", f'<i xmlns:r="urn:r">{ITEM}{ADDRESS}</i>'.encode())
        document.save(tmp_path / "a.pdf")
        assert facts_of(document) == ([("Oak table", frozenset({2.0, 1420.0, 2840.0}))], ["12 Harbour Lane"])
    (tmp_path / "b.pdf").write_bytes(b"no document")  # is told and left out
    files = chosen(tmp_path)
    good = measured(
        files, lambda _: "<table><tr><td>Oak table</td><td>2 1,420.00</td><td>2,840.00</td></tr></table>"
    )
    assert [part.rsplit(" ", 3)[1:] for part in good.split(", ")] == [
        ["1.000", "of", "1"], ["1.000", "of", "1"], ["1.000", "of", "3"], ["0.000", "of", "1"]
    ]  # fmt: skip
    torn = measured(
        files, lambda _: "# 12 Harbour Lane\n<table><tr><td>Oak table</td></tr></table>\n2 1420 2840"
    )
    assert "items in one row 0.000" in torn
    assert "addresses in headings 1.000" in torn

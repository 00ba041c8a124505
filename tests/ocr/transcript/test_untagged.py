from ocr.transcript import grounding
from ocr.transcript.untagged import parse_html_tables, parse_text


def test_tables_become_rows_and_nothing_else_changes() -> None:
    raw = (
        "# Prices <1 & more\n\n<table>\n  <thead>\n    <tr>\n      <th>Name</th>\n      <th colspan='2'>Age</th>\n"
        "    </tr>\n"
        "  </thead>\n  <tbody><tr><td></td><td>A &amp; B</td></tr>\n\n<tr><td>AT&T</td><td>1<br>2</td></tr></tbody>\n"
        "</table>\nafter &amp;\n\n\n\n<TABLE><tr><td>x<table><tr><td>in</td></tr></table></td></tr></TABLE>"
        "end <table><tr><td>cut"
    )
    parsed = parse_html_tables(raw)
    assert parsed.markdown == raw.replace("\n\n\n\n", "\n\n")
    assert parsed.text == (
        "# Prices <1 & more\n\nName\tAge\n\tA & B\nAT&T\t1 2\nafter &amp;\n\nx   in\nend\ncut"
    )
    assert [(block.label, block.text[:14]) for block in parsed.blocks] == [
        *(("text", "# Prices <1 & "), ("table", "<table>\n  <the"), ("text", "after &amp;")),
        *(("table", "<TABLE><tr><td"), ("text", "end"), ("table", "<table><tr><td")),
    ]
    for block in parsed.blocks:
        assert block.raw_span is not None
        assert raw[slice(*block.raw_span)] == block.text


def test_text_is_read_as_deepseeks_without_regions_is() -> None:
    raw = " First line\nsecond | a |\n\n\n\nThird $x$ [1, 2]\n  \n# fourth\n"
    assert parse_text(raw) == grounding.parse(raw, width_px=10, height_px=10)
    assert [block.raw_span for block in parse_text(raw).blocks] == [
        block.raw_span for block in grounding.parse(raw, width_px=10, height_px=10).blocks
    ]


def test_tags_of_other_formats_stay() -> None:
    raw = "<|det|>[[1, 2]] <text>a</text>"
    assert parse_text(raw).text == parse_text(raw).markdown == raw

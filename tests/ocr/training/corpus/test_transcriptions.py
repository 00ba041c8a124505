"""ALTO and PAGE XML give lines with their texts and baselines; what a text may not tell in full is left empty."""

import numpy as np
import pytest

from ocr.training.corpus.scan_lines import plain, transcribed_lines

ALTO = b"""<alto xmlns="http://www.loc.gov/standards/alto/ns-v4#"><Layout>
<TextLine BASELINE="300 52 10,50" HPOS="10" VPOS="20" WIDTH="290" HEIGHT="40">
<String CONTENT="two"/><SP/><String CONTENT="wo&#172;"/></TextLine>
<TextLine HPOS="10" VPOS="100" WIDTH="200" HEIGHT="40"><String CONTENT="no baseline"/></TextLine>
<TextLine><String CONTENT="nowhere"/></TextLine></Layout></alto>"""
PAGE = b"""<PcGts xmlns="http://schema.primaresearch.org/PAGE/gts/pagecontent/2019-07-15"><Page>
<TextLine id="l"><Coords points="0,0 90,0 90,40 0,40"/><Baseline points="0,30 45,31 90,32"/>
<Word><TextEquiv><Unicode>The</Unicode></TextEquiv></Word>
<TextEquiv><Unicode>The _whole line</Unicode></TextEquiv></TextLine></Page></PcGts>"""


def test_alto() -> None:
    first, second = transcribed_lines(ALTO)
    assert (first.text, second.text) == ("two wo-", "no baseline")
    np.testing.assert_array_equal(first.baseline, [(10, 50), (300, 52)])
    np.testing.assert_array_equal(second.baseline, [(10, 130), (210, 130)])


def test_page_xml_s_line_is_not_its_words() -> None:
    (line,) = transcribed_lines(PAGE)
    assert line.text == "The whole line"
    assert line.baseline.shape == (3, 2)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("de  l\u2019ﬁn 1^er", "de l\u2019fin 1er"),
        ("known ~~~ by hand", ""),
        ("struck \u27e6out\u27e7", ""),
        ("an under_line", "an under_line"),
    ],
)
def test_transcribers_signs(written: str, text: str) -> None:
    assert plain(written) == text

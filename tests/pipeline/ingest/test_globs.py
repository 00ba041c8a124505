import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.ingest.globs import matcher


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.pdf", "a.pdf", True),
        ("*.pdf", "deep/er/a.PDF", True),
        ("*.pdf", "a.pdf.txt", False),
        ("drafts", "x/drafts", True),
        ("drafts/", "x/drafts", True),
        ("x/*.pdf", "x/a.pdf", True),
        ("x/*.pdf", "x/y/a.pdf", False),
        ("x/**/*.pdf", "x/a.pdf", True),
        ("x/**/*.pdf", "x/y/z/a.pdf", True),
        ("**/y/*", "x/y/a", True),
        ("x/**", "x/y/a", True),
        ("/x/a.pdf", "x/a.pdf", True),
        ("page?.png", "page1.png", True),
        ("page[0-3].png", "page2.png", True),
        ("page[!0-3].png", "page2.png", False),
        ("a+(b).pdf", "a+(b).pdf", True),
        ("a+(b).pdf", "aab.pdf", False),
    ],
)
def test_patterns(pattern, path, expected):
    assert matcher([pattern])(path) is expected


def test_no_patterns_match_nothing():
    assert not matcher([])("a.pdf")


@given(st.text(min_size=1, max_size=12), st.text(max_size=12))
def test_any_pattern_is_safe(pattern, path):
    matcher([pattern])(path)


@given(st.text(st.characters(blacklist_characters="*?[]/"), min_size=1, max_size=12))
def test_plain_name_matches_itself(name):
    assert matcher([name])(f"folder/{name}")

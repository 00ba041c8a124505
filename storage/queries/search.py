"""Full-text search over the pages' current texts."""

import re

from sqlite_utils import Database

from storage.database import Row, pairs, rows
from storage.strings.search_lines import apart, as_read
from storage.strings.text import storable

MAX_TERMS = 64
_TERM = re.compile(r'"([^"]*)"(\*?)|([^\s"]+)')


def to_match(query: str) -> str:
    """Returns the FTS5 expression for what a person typed; "" when it holds no letter or digit.

    Every word must occur. "two words" in double quotes are a phrase, a final * matches any ending.
    Words that line ends cut are whole, and any characters of Chinese, Japanese and Korean in a row are a word.
    Nothing else is an operator: each term becomes an FTS5 string, in which only the quote is special. Words after the
    first MAX_TERMS are ignored.
    """
    terms = []
    for phrase, phrase_star, word in _TERM.findall(storable(query.replace("\0", " "))):
        text = apart(phrase or word.rstrip("*"))
        star = phrase_star or ("*" if word.endswith("*") else "")
        if any(letter.isalnum() for letter in text):
            terms.append('"{}"{}'.format(text.replace('"', '""'), star))
    return " ".join(terms[:MAX_TERMS])


def search(db: Database, query: str, *, limit: int = 20, doubtful: bool = False) -> list[Row]:
    """Returns the best hits, best first (bm25); a page of several files is one for each.

    page: 1-based. score: larger is better. snippet: one line with the matches in brackets. doubt: why its text may be
    wrong or incomplete, None where nothing suggests so. doubtful: also searches pages whose text is in doubt. Any query
    is valid.
    """
    match = to_match(query)
    found = rows(db, _SEARCH, {"match": match, "limit": limit, "doubtful": doubtful}) if match else []
    for hit in found:
        hit["snippet"] = " ".join(as_read(hit["snippet"]).split())
    return found


def num_hits(db: Database, query: str) -> tuple[int, int]:
    """Returns how many hits a search has without a limit: on pages whose text is in no doubt, and on the others."""
    match = to_match(query)
    counts = pairs(db, _COUNT, {"match": match}) if match else {}
    return counts.get(False, 0), counts.get(True, 0)


_SEARCH = """
SELECT r.path, r.page, r.status, snippet(page_search, -1, '[', ']', '…', 16) AS snippet,
    -bm25(page_search) AS score, r.doubt
FROM page_search JOIN results r ON r.page_id = page_search.rowid
WHERE page_search MATCH :match AND (:doubtful OR r.doubt IS NULL)
ORDER BY bm25(page_search), r.path, r.page LIMIT :limit
"""

_COUNT = """
SELECT r.doubt IS NOT NULL, count(*) FROM page_search JOIN results r ON r.page_id = page_search.rowid
WHERE page_search MATCH :match GROUP BY 1
"""

"""Any typed text is a valid search, and finds the pages that hold all its words."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlite_utils import Database

from storage.database import open_for_reading
from storage.queries.search import MAX_TERMS, num_hits, search, to_match
from storage.records.store import Store
from tests.storage.sample_records import SHA_A, SHA_B, a_file, a_page, new_run

TEXT = 'The state-of-the-art café said: "don\'t panic" AND sold 3.14 kg\nof coffee NEAR the old town.'


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    path = tmp_path_factory.mktemp("search") / "test.db"
    with Store(path) as store:
        run_id = new_run(store, a_file("a.pdf"), a_file("copy.pdf"), a_file("b.pdf", SHA_B))
        store.record_page(run_id, a_page(TEXT, 1))
        store.record_page(run_id, a_page("coffee " * 3, 0, sha256=SHA_B))
        store.record_page(run_id, a_page(None, 2))
        store.record_page(run_id, a_page("", 0, status="blank", sha256=SHA_A))
    with open_for_reading(str(path)) as opened:
        yield opened


def places(db: Database, query: str, limit: int = 20) -> list[tuple[str, int]]:
    return [(hit["path"], hit["page"]) for hit in search(db, query, limit=limit)]


A_PAGE = [("a.pdf", 2), ("copy.pdf", 2)]


@pytest.mark.parametrize(
    "query",
    [
        "panic",
        "PANIC coffee",
        "cafe",
        "state-of-the-art",
        "don't",
        '"old town"',
        '"old town',
        "3.14",
        "pan*",
        '"old to"*',
        "AND",
        "NEAR",
        "panic - :",
        "(panic)",
        "panic;",
        "panic\0",
    ],
)
def test_found(db: Database, query: str) -> None:
    assert places(db, query) == A_PAGE


@pytest.mark.parametrize(
    "query",
    [
        "",
        " ",
        '"',
        '""',
        "-",
        "*",
        "()",
        '"town old"',
        "pani",
        "panic NOT coffee",
        "panic OR tea",
        "text:panic",
    ],
)
def test_not_found(db: Database, query: str) -> None:
    assert places(db, query) == []


def test_best_first_and_limited(db: Database) -> None:
    assert places(db, "coffee") == [("b.pdf", 1), *A_PAGE]
    assert places(db, "coffee", limit=1) == [("b.pdf", 1)]
    scores = [hit["score"] for hit in search(db, "coffee")]
    assert scores == sorted(scores, reverse=True)


def test_a_snippet_is_one_line_with_the_match_marked(db: Database) -> None:
    hit = search(db, "coffee kg")[0]
    assert "3.14 [kg] of [coffee]" in hit["snippet"]
    assert "\n" not in hit["snippet"]
    assert (hit["path"], hit["page"], hit["status"]) == ("a.pdf", 2, "ok")


def test_a_very_long_query_is_valid(db: Database) -> None:
    assert places(db, "coffee " * 10_000) == [("b.pdf", 1), *A_PAGE]
    assert to_match("x " * 1000).count('"x"') == MAX_TERMS
    assert places(db, "x" * 1_000_000) == []


ALPHABET = st.sampled_from([*"\"'*-+^(){}:;,.\\/%_&|!?~`@#$<>=[] \t\n\0aé漢1", "AND", "OR", "NOT", "NEAR("])
QUERIES = st.text() | st.text(st.characters(codec=None)) | st.lists(ALPHABET, max_size=12).map("".join)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(query=QUERIES)
def test_any_input_is_safe(db: Database, query: str) -> None:
    search(db, query)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    words=st.lists(st.sampled_from(["panic", "coffee", "town", "kg"]), min_size=1),
    junk=st.text("-+:^(){}*;", max_size=3),
)
def test_punctuation_between_words_changes_nothing(db: Database, words: list[str], junk: str) -> None:
    query = f" {junk} ".join(words)
    expected = {*A_PAGE} | ({("b.pdf", 1)} if set(words) == {"coffee"} else set())
    assert set(places(db, query)) == expected


CUT = "It asked for docu-\nmentation of the light-\nhouse keep-\ner's well-\nknown boat.\nA line\nof 1914-\n1918."
JAPANESE = "来月から水道料金が改\n定されます。詳しくは東京営業所まで。\n10 May\n大阪"


@pytest.mark.parametrize(
    ("text", "query", "is_found"),
    [
        (CUT, "documentation LIGHTHOUSE", True),
        (CUT, '"documentation of the lighthouse"', True),
        (CUT, "lighthouse boat", True),
        (CUT, "docu", True),  # as it is printed
        (CUT, "well-known", True),
        (CUT, '"known boat"', True),
        (CUT, "documen*", True),
        (CUT, "19141918", False),
        (JAPANESE, "水道料金", True),
        (JAPANESE, "改定", True),
        (JAPANESE, "東京 営業所", True),
        (JAPANESE, "東", True),
        (JAPANESE, "京東", False),
        (JAPANESE, "道金", False),
        (JAPANESE, "で大阪", False),  # a line of other words stands between
        (JAPANESE, "大阪 May", True),
    ],
)
def test_words_are_found_whole(store: Store, path: Path, text: str, query: str, is_found: bool) -> None:
    store.record_page(new_run(store), a_page(text))
    with open_for_reading(str(path)) as db:
        assert places(db, query) == [("docs/a.pdf", 1)] * is_found
        assert num_hits(db, query) == (is_found, 0)


def test_a_snippet_shows_whole_words(store: Store, path: Path) -> None:
    store.record_page(new_run(store), a_page(f"{CUT}\n\n{JAPANESE}"))
    with open_for_reading(str(path)) as db:
        assert "[documentation] of the" in search(db, "documentation")[0]["snippet"]
        assert "から[水道料金]が" in search(db, "水道料金")[0]["snippet"]


def test_results_follow_the_text_of_the_current_attempt(store: Store, path: Path) -> None:
    run_id = new_run(store)
    store.record_page(run_id, a_page("first words"))
    store.record_page(run_id, a_page("second words"))
    with open_for_reading(str(path)) as db:
        assert places(db, "first") == []
        assert places(db, "second") == places(db, "words") == [("docs/a.pdf", 1)]


def test_doubtful_text_is_found_only_when_asked_for(store: Store, path: Path) -> None:
    run_id = new_run(store, a_file("a.pdf"), a_file("b.pdf", SHA_B))
    store.record_page(
        run_id, a_page("tea and more tea", status="doubtful", doubt="confidence 0.11 below 0.35")
    )
    store.record_page(
        run_id, a_page("tea cut short", 1, status="truncated", doubt="confidence 0.2 below 0.35")
    )
    store.record_page(run_id, a_page("tea cut short", 2, status="truncated"))
    store.record_page(run_id, a_page("tea", sha256=SHA_B))
    with open_for_reading(str(path)) as opened:
        assert sorted(places(opened, "tea")) == [("a.pdf", 3), ("b.pdf", 1)]
        every = {(hit["path"], hit["page"]): hit["doubt"] for hit in search(opened, "tea", doubtful=True)}
        assert [num_hits(opened, query) for query in ("tea", "more", "-")] == [(2, 2), (0, 1), (0, 0)]
        assert places(opened, "more") == []
    assert every == {
        ("a.pdf", 1): "confidence 0.11 below 0.35",
        ("a.pdf", 2): "confidence 0.2 below 0.35",
        ("a.pdf", 3): None,
        ("b.pdf", 1): None,
    }


def test_hits_beyond_the_limit_are_counted(db: Database) -> None:
    assert len(places(db, "coffee", limit=1)) == 1
    assert num_hits(db, "coffee") == (len(places(db, "coffee")), 0) == (3, 0)
    assert num_hits(db, "*") == num_hits(db, "nowhere") == (0, 0)

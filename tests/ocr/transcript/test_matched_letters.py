"""Letters of a text find their partners in another of the same page, whatever the order of its blocks."""

import random
import time

import pytest

from ocr.transcript.matched_letters import matched

FIRST = "thequickbrownfoxjumpsoverthelazydog"
SECOND = "packmyboxwithfivedozenliquorjugs"


def partners(own: str, seen: str) -> list[int]:
    found = matched(own, seen)
    taken = [j for j in found.partner if j >= 0]
    assert len(taken) == len(set(taken)) == sum(found.is_taken)
    assert all(not same or own[i] == seen[found.partner[i]] for i, same in enumerate(found.is_same))
    return found.partner


@pytest.mark.parametrize("text", ["", "a", FIRST, FIRST * 3])
def test_a_text_is_its_own_partner(text: str) -> None:
    assert partners(text, text) == list(range(len(text)))


def test_blocks_find_each_other_in_any_order() -> None:
    assert partners(SECOND + FIRST, FIRST + SECOND) == [
        *range(len(FIRST), len(FIRST) + len(SECOND)),
        *range(len(FIRST)),
    ]


def test_wrong_and_missing_letters_leave_the_others_in_place() -> None:
    own = FIRST.replace("fox", "fux").replace("lazy", "lay")
    found = partners(own, FIRST)
    at = own.index("u", 5)
    assert [found[i] - i for i in (0, at - 1, at, at + 1)] == [0, 0, 0, 0]
    assert found[-1] == len(FIRST) - 1


def test_what_is_nowhere_has_no_partner_that_is_the_same() -> None:
    assert not any(matched("0123456789", FIRST).is_same)
    assert partners(f"{FIRST}0123456789", FIRST)[-10:] == [-1] * 10


def test_of_two_equal_places_the_one_with_the_same_around_counts() -> None:
    same = "totalamount"
    seen = f"{FIRST}{same}{SECOND}{same}9731"
    own = f"{SECOND}{same}9731"
    assert partners(own, seen)[len(SECOND)] == seen.rindex(same)


def test_only_what_may_be_partners_is() -> None:
    seen = FIRST + FIRST
    found = matched(FIRST, seen, lambda at, place: place >= len(FIRST))
    assert found.partner == [*range(len(FIRST), 2 * len(FIRST))]


def test_a_text_that_repeats_itself_takes_no_minutes() -> None:
    rng = random.Random(0)
    page = "".join(rng.choices("abcdefghij", k=4000))
    start = time.process_time()
    partners(page[:300] * 80, page)
    partners("." * 20_000, "." * 3000 + page)
    assert time.process_time() - start < 10

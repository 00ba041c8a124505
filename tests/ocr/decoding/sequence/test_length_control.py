from ocr.character_head.second_opinion import SecondOpinion, marks
from ocr.decoding.sequence.length_control import LengthControl
from tests.ocr.tiny_reader import tokenizer

WORDS = [f"w{index}" for index in range(10, 60)]
TOKENIZER = tokenizer()


def ids(words: list[str]) -> list[int]:
    return [TOKENIZER.token_to_id(word) for word in words]


def control(seen: list[str], min_share: float = 0.85, max_share: float = 1.5) -> LengthControl:
    line = marks("".join(seen))
    opinion = SecondOpinion(num_marks=len(line), lines=(line,))
    return LengthControl(TOKENIZER, opinion, min_share=min_share, max_share=max_share)


def test_an_end_is_refused_until_enough_is_written() -> None:
    page = control(WORDS)
    assert [page.refuses_end(ids(WORDS[:count])) for count in (20, 30, 40, 45, 50)] == [
        *(True, True, False, False, False)
    ]


def test_short_pages_may_end_anywhere() -> None:
    assert not control(WORDS[:3]).refuses_end([])


def test_refusals_run_out() -> None:
    page = control(WORDS)
    empty_words = ids(["<td>", "</td>"] * 100)
    assert page.refuses_end([])
    assert page.refuses_end(empty_words[:50])
    assert not page.refuses_end(empty_words)


def test_what_follows_a_refused_end_stays_only_if_it_is_on_the_page() -> None:
    page = control(WORDS)
    assert page.refused_end(ids(WORDS)) is None, "nothing was refused"
    assert page.refuses_end(ids(WORDS[:20]))
    assert page.refused_end(ids(WORDS)) is None
    assert page.refused_end(ids(WORDS[:20])) is None, "nothing follows"
    foreign = ids(WORDS[:20] + ["Read"] * 20)
    assert page.refused_end(foreign) == 20


def test_a_page_is_over_when_it_is_far_longer_than_what_is_seen() -> None:
    page = control(WORDS[:5])
    assert not page.is_over(ids(WORDS[:32]))
    assert page.is_over(ids(WORDS * 2)[:96])
    assert not page.is_over(ids(WORDS * 2)[:97]), "looked at only at every 32nd length"


def test_white_space_without_end_is_over_too() -> None:
    page = control(WORDS[:5])
    cells = ids(["<td>", "</td>"] * 200)
    assert [page.is_over(cells[:count]) for count in (192, 256)] == [False, True]


def test_limits_can_be_switched_off() -> None:
    assert not control(WORDS, min_share=0).refuses_end([])
    assert not control(WORDS[:1], max_share=0).is_over(ids(WORDS * 20)[:960])
    nothing = LengthControl(TOKENIZER, None, min_share=0.85, max_share=1.5)
    assert not nothing.refuses_end([])
    assert not nothing.is_over(ids(WORDS * 20)[:960])
    assert nothing.refused_end(ids(WORDS)) is None

import numpy as np
import pytest

from ocr.layout.localize.matching.marks import alike, written_marks
from tests.ocr.layout.localize.drawn import CHARACTERS


@pytest.mark.parametrize("characters", [CHARACTERS, "aAbBlI1|", "", "I", "–-—x"])
def test_a_class_has_the_mark_of_the_first_that_looks_like_it(characters: str) -> None:
    def look(character: str) -> str:
        (mark,) = written_marks([character], characters).mark
        return str(mark)

    first = [min(b for b, other in enumerate(characters) if look(other) == look(a)) + 2 for a in characters]
    assert alike(characters).tolist() == [0, 1, *first]


def test_what_pages_share_cannot_be_changed_by_one() -> None:
    with pytest.raises(ValueError, match="read-only"):
        alike("abc")[0] = 5


def test_repeated_marks_of_a_text_are_one_and_letters_stay_beside_them() -> None:
    written = written_marks(["aa b", "bB 0o!", ""], "ab0o")
    assert written.letters == "abb0!"
    assert written.text.tolist() == [0, 0, 1, 1, 1]
    assert written.mark.tolist() == [2, 3, 3, 4, 1]
    assert written.mark.dtype == np.int64

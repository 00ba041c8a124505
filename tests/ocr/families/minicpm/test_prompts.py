import pytest
from tokenizers import Tokenizer, models

from encoders.minicpm.slices_encoder import Placeholders
from ocr.errors import CheckpointError
from ocr.families.minicpm.prompts import CHATS, page_prompt, stop_ids
from ocr.model.prompt import PromptError
from tests.ocr.families.minicpm.plain_prompts import plain_prompt, plain_prompt_of_several
from tests.ocr.families.minicpm.tiny_minicpm import VERSIONS, tokenizer

QUESTION = "Read the text, as Markdown.\nTables too. "


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("grid", [None, (1, 2), (3, 1), (3, 2)])
def test_an_image_s_prompt_equals_the_published_one(version: str, grid: tuple[int, int] | None) -> None:
    page = page_prompt(tokenizer(), version, QUESTION, Placeholders(num_queries=3, grid=grid))  # type: ignore[arg-type]
    ids, places = plain_prompt(tokenizer(), version, QUESTION, 3, grid)
    assert (list(page.ids), list(page.places)) == (ids, places)
    assert len(places) == 3 * (1 + (grid[0] * grid[1] if grid else 0))
    assert {tokenizer().id_to_token(ids[place]) for place in places} == {"<unk>"}


@pytest.mark.parametrize(
    ("version", "groups"), [("2.6", [1] * 4), ("4.0", [1]), ("4.5", [1, 1]), ("4.5", [3, 3, 2])]
)
def test_a_video_s_prompt_equals_the_published_one(version: str, groups: list[int]) -> None:
    shown = Placeholders(num_queries=2, num_frames=len(groups))
    page = page_prompt(tokenizer(), version, QUESTION, shown)  # type: ignore[arg-type]
    assert (list(page.ids), list(page.places)) == plain_prompt(
        tokenizer(), version, QUESTION, 2, groups=groups
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_a_prompt_of_several_images_equals_the_published_one(version: str) -> None:
    grids = [(1, 2), None, (3, 1)]
    pages = [Placeholders(num_queries=3, grid=grid) for grid in grids]
    asked = page_prompt(tokenizer(), version, QUESTION, *pages)  # type: ignore[arg-type]
    assert (list(asked.ids), list(asked.places)) == plain_prompt_of_several(
        tokenizer(), version, QUESTION, 3, grids
    )
    assert len(asked.places) == 3 * (3 + 1 + 4)


def test_images_beside_a_video_have_no_ids_and_each_its_place() -> None:
    items = Placeholders(num_queries=2), Placeholders(num_queries=2, num_frames=3)
    asked = page_prompt(tokenizer(), "4.5", "From <image> to <image>.", *items)
    image = "<image><unk><unk></image>"
    frames = "\n".join([image] * 3)
    text = f"<|im_start|>user\nFrom {image} to {frames}.<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    assert list(asked.ids) == tokenizer().encode(text).ids
    assert len(asked.places) == 2 * 4


def test_the_tag_says_where_the_page_belongs() -> None:
    shown = Placeholders(num_queries=2)
    first = page_prompt(tokenizer(), "2.6", "Free OCR.", shown)
    assert page_prompt(tokenizer(), "2.6", "<image>\nFree OCR.", shown) == first
    last = page_prompt(tokenizer(), "2.6", "Free OCR.\n<image>", shown)
    assert len(last.ids) == len(first.ids)
    assert last.places[0] == first.places[0] + len("Free OCR.\n")


def test_more_places_than_pictures_are_refused() -> None:
    with pytest.raises(PromptError, match="holds <image> 2 times"):
        page_prompt(tokenizer(), "2.6", "<image> and <image>", Placeholders(num_queries=2))


@pytest.mark.parametrize("question", ["a <slice>", "<unk>", "</image>", "<image_id>1"])
def test_a_question_with_the_model_s_marks_is_refused(question: str) -> None:
    with pytest.raises(PromptError, match="mark the page"):
        page_prompt(tokenizer(), "2.6", question, Placeholders(num_queries=2))


def test_a_tokenizer_of_another_model_is_refused() -> None:
    other = Tokenizer(models.WordLevel({"w0": 0}, unk_token="w0"))
    with pytest.raises(CheckpointError, match="has no token"):
        page_prompt(other, "2.6", "Free OCR.", Placeholders(num_queries=2))
    lacking = tokenizer()
    without = Tokenizer.from_str(lacking.to_str().replace('"content":"<unk>"', '"content":"<unknown>"'))
    with pytest.raises(CheckpointError, match="placeholders"):
        page_prompt(without, "2.6", "Free OCR.", Placeholders(num_queries=2))


@pytest.mark.parametrize("version", VERSIONS)
def test_answers_end_at_the_version_s_tokens(version: str) -> None:
    ids = stop_ids(tokenizer(), version)  # type: ignore[arg-type]
    assert [tokenizer().id_to_token(token) for token in ids] == list(CHATS[version].stops)  # type: ignore[index]

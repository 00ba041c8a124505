"""Turns a prompt and its pictures' placeholders into token ids, and says which of them vision tokens replace.

Source: the published chat templates and `get_slice_image_placeholder` of MiniCPM-Llama3-V-2_5, MiniCPM-V-2_6 and
MiniCPM-V-4_5; MiniCPM-V-4 has that of MiniCPM4. Thinking is off, as in the published `chat` of 4.5.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer

from encoders.minicpm.slices_encoder import Placeholders
from ocr.errors import CheckpointError
from ocr.families.minicpm.versions import Version
from ocr.model.prompt import IMAGE_TAG, PromptError, placed

_IMAGE, _SLICE, _ID, _UNKNOWN = (
    ("<image>", "</image>"),
    ("<slice>", "</slice>"),
    ("<image_id>", "</image_id>"),
    "<unk>",
)
_QWEN = ("<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n")
_SYSTEM = "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """How a version is asked. before, after: what surrounds the question. stops: the tokens that end an answer.

    slices_are_images: slices have the image's own marks, and <slice> surrounds them all (2.5); otherwise each has its
    own <slice>, and an image has an id. strips: white space around the question is left out.
    """

    before: str
    after: str
    stops: tuple[str, ...]
    slices_are_images: bool = False
    strips: bool = False


CHATS: dict[Version, Chat] = {
    "2.5": Chat(
        before="<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n",
        after="<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
        stops=("<|eot_id|>", "<|end_of_text|>"),
        slices_are_images=True,
        strips=True,
    ),
    "2.6": Chat(before=_SYSTEM + _QWEN[0], after=_QWEN[1], stops=("<|im_end|>", "<|endoftext|>")),
    "4.0": Chat(before=_QWEN[0], after=_QWEN[1], stops=("<|im_end|>", "</s>")),
    "4.5": Chat(
        before=_QWEN[0],
        after=_QWEN[1] + "<think>\n\n</think>\n\n",
        stops=("<|im_end|>", "<|endoftext|>"),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePrompt:
    """A page's prompt. places: indices of the ids that stand for vision tokens, in the tokens' order."""

    ids: tuple[int, ...]
    places: tuple[int, ...]


def page_prompt(tokenizer: Tokenizer, version: Version, question: str, *items: Placeholders) -> PagePrompt:
    """Returns the prompt of pages and videos, each in a line of its own.

    question: `<image>` says where they belong, see ocr.model.prompt.placed; otherwise they come first. Images beside
    a video have no ids, as published code gives ids to all pictures of a prompt or to none.

    Raises: PromptError for a question with marks of the model's own; CheckpointError for a tokenizer without them.
    """
    chat = CHATS[version]
    text = chat.before + _asked(chat, question, items) + chat.after
    ids = tokenizer.encode(text).ids
    places = _places(tokenizer, chat, ids)
    expected = sum(num_placeholders(one) * one.num_queries for one in items)
    if len(places) != expected:
        raise CheckpointError(
            f"tokenizer.json makes {len(places)} placeholders of a prompt's {expected}; use the tokenizer.json "
            "published with the model"
        )
    return PagePrompt(ids=tuple(ids), places=tuple(places))


def stop_ids(tokenizer: Tokenizer, version: Version) -> tuple[int, ...]:
    """Returns the ids that end an answer. Raises: CheckpointError for a tokenizer without them."""
    return tuple(_id(tokenizer, token) for token in CHATS[version].stops)


def num_placeholders(placeholders: Placeholders) -> int:
    """Returns how many sets of vision tokens a page has."""
    if placeholders.grid is not None:
        return 1 + placeholders.grid[0] * placeholders.grid[1]
    return placeholders.num_frames or 1


def _asked(chat: Chat, question: str, items: Sequence[Placeholders]) -> str:
    """Returns the user's message, the pictures in their places."""
    rest = question.replace(IMAGE_TAG, "")
    if found := [mark for mark in (*_IMAGE, *_SLICE, *_ID, _UNKNOWN) if mark in rest]:
        raise PromptError(
            f"the prompt {question!r} holds {', '.join(found)}, which mark the page; write {IMAGE_TAG} where that "
            "belongs, and none of the others"
        )
    if IMAGE_TAG not in question:
        question = f"{IMAGE_TAG}\n{question}"
    has_ids = not (chat.slices_are_images or any(one.num_frames for one in items))
    ids = [_marked(_ID, str(number)) if has_ids else "" for number in range(len(items))]
    shown = [its + _picture(chat, one) for its, one in zip(ids, items, strict=True)]
    return placed(question.strip() if chat.strips else question, shown, "\n")


def _picture(chat: Chat, placeholders: Placeholders) -> str:
    """Returns the marks and placeholders of an image with its slices, or of a video's frames, a line each."""
    unknowns = _UNKNOWN * placeholders.num_queries
    image = _marked(_IMAGE, unknowns)
    if placeholders.num_frames:
        return "\n".join([image] * placeholders.num_frames)
    columns, rows = placeholders.grid or (0, 0)
    if chat.slices_are_images:
        lines = "\n".join([image * columns] * rows)
        return image + (_marked(_SLICE, lines) if rows else "")
    return image + "\n".join([_marked(_SLICE, unknowns) * columns] * rows)


def _marked(marks: tuple[str, str], text: str) -> str:
    return marks[0] + text + marks[1]


def _places(tokenizer: Tokenizer, chat: Chat, ids: list[int]) -> list[int]:
    """Returns the indices between the marks."""
    kinds = [_IMAGE] if chat.slices_are_images else [_IMAGE, _SLICE]
    starts, ends = ({_id(tokenizer, kind[side]) for kind in kinds} for side in (0, 1))
    places: list[int] = []
    inside = False
    for place, token in enumerate(ids):
        if token in starts or token in ends:
            inside = token in starts
        elif inside:
            places.append(place)
    return places


def _id(tokenizer: Tokenizer, token: str) -> int:
    found: int | None = tokenizer.token_to_id(token)
    if found is None:
        raise CheckpointError(
            f"tokenizer.json has no token {token!r}; use the tokenizer.json published with the model"
        )
    return found

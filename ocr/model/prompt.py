"""Turns a prompt into embeddings: BOS, text, the page's vision tokens in place of `<image>`, text."""

from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer

IMAGE_TAG = "<image>"


class PromptError(ValueError):
    """The prompt cannot be used as written."""


def placed(prompt: str, items: Sequence[str], between: str = "") -> str:
    """Returns a prompt with texts in place of its pictures. between: stands between those in one place.

    A prompt that says `<image>` once has all of them there, one without has them first. Raises: PromptError for
    another number of places than of pictures.
    """
    pieces = prompt.split(IMAGE_TAG)
    places = [between.join(items)] if len(pieces) <= 2 else items
    if len(pieces) == 1:
        pieces = ["", prompt]
    if len(places) != len(pieces) - 1:
        raise PromptError(
            f"the prompt {prompt!r} holds {IMAGE_TAG} {len(pieces) - 1} times; write it once, or not at all to have "
            f"the image first, or once for each picture, of which there are {len(items)}"
        )
    return pieces[0] + "".join(item + piece for item, piece in zip(places, pieces[1:], strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptIds:
    """The prompt's token ids before and after the page. before starts with BOS."""

    before: tuple[int, ...]
    after: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.before) + len(self.after)


def encode_prompt(tokenizer: Tokenizer, prompt: str, *, bos_id: int) -> PromptIds:
    """Returns the token ids of a prompt such as `<image>\\nFree OCR.`; no chat roles, outer white space stripped.

    The text is split at `<image>` before it is tokenized, so a tokenizer need not know the tag.

    Raises: PromptError unless the prompt holds `<image>` exactly once.
    Source: deepseek-ai/DeepSeek-OCR, modeling_deepseekocr.py (infer).
    """
    pieces = prompt.strip().split(IMAGE_TAG)
    if len(pieces) != 2:
        raise PromptError(
            f"the prompt {prompt!r} holds {IMAGE_TAG} {len(pieces) - 1} times; write it exactly once, "
            f"where the page belongs, for example '{IMAGE_TAG}\\nFree OCR.'"
        )
    before, after = (tuple(tokenizer.encode(piece, add_special_tokens=False).ids) for piece in pieces)
    return PromptIds(before=(bos_id, *before), after=after)

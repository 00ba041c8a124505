"""Prompts of Qwen-VL models as token ids: one user turn with images and videos, and the beginning of the answer.

Source: the models' chat templates; transformers, processing_qwen3_vl.py and processing_qwen2_5_vl.py.
"""

from dataclasses import dataclass
from itertools import chain

from tokenizers import Tokenizer

from encoders.native.vision_grid import Kind, VisionGrid
from encoders.video_timing import VideoTiming
from ocr.model.prompt import PromptError, placed

PADS: dict[Kind, str] = {"image": "<|image_pad|>", "video": "<|video_pad|>"}
_START, _END = "<|vision_start|>", "<|vision_end|>"
_TURN_START, _TURN_END = "<|im_start|>", "<|im_end|>"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFormat:
    """The chat template of a model.

    system: the text of a system turn, None for no such turn. stamps: whether each temporal patch of a video has its
    time before it and markers of its own, which others enclose once more.
    """

    system: str | None
    stamps: bool


# By type; olmOCR-2 and Nanonets-OCR2 are of the second.
CHATS = {
    "qwen3_vl": ChatFormat(system=None, stamps=True),
    "qwen2_5_vl": ChatFormat(system="You are a helpful assistant.", stamps=False),
}


def vision_prompt(
    tokenizer: Tokenizer, chat: ChatFormat, prompt: str, *grids: VisionGrid, temporal: int = 2
) -> tuple[int, ...]:
    """Returns the token ids of a prompt about images and videos, with as many pads as there are vision tokens.

    prompt: the user's text. They stand where it says `<image>`, see ocr.model.prompt.placed. grids: in their order;
    the temporal patches of a video without a timing are full and follow each other at the default rate. temporal:
    frames in a patch.

    Raises: PromptError for another number of places than of grids, or if the tokenizer is not of such a model.
    """
    texts = [_vision_text(chat, grid, temporal) for grid in grids]
    ids = tokenizer.encode(
        chat_text(chat, prompt, *(text for text, _ in texts)), add_special_tokens=False
    ).ids
    pads = {kind: tokenizer.token_to_id(pad) for kind, pad in PADS.items()}
    for kind, pad_id in pads.items():
        expected = sum(
            len(counts) for grid, (_, counts) in zip(grids, texts, strict=True) if grid.kind == kind
        )
        if (found := 0 if pad_id is None else ids.count(pad_id)) != expected:
            raise PromptError(
                f"the prompt has {found} tokens {PADS[kind]}, expected {expected}: leave that text out of it, and use "
                "the tokenizer.json of the model"
            )
    left = chain.from_iterable(counts for _, counts in texts)
    return tuple(
        chain.from_iterable([token] * (next(left) if token in pads.values() else 1) for token in ids)
    )


def chat_text(chat: ChatFormat, prompt: str, *vision: str) -> str:
    """Returns the turns as text. vision: stand for images and videos. Raises: PromptError, see placed()."""
    content = placed(prompt, vision)
    system = "" if chat.system is None else f"{_TURN_START}system\n{chat.system}{_TURN_END}\n"
    return f"{system}{_TURN_START}user\n{content}{_TURN_END}\n{_TURN_START}assistant\n"


def _vision_text(chat: ChatFormat, grid: VisionGrid, temporal: int) -> tuple[str, list[int]]:
    """Returns the text that stands for the image or video, and for how many tokens each of its pads stands.

    Raises: PromptError for a timing of another number of frames.
    """
    pad = PADS[grid.kind]
    if grid.kind == "image" or not chat.stamps:
        return f"{_START}{pad}{_END}", [grid.num_tokens]
    timing = grid.timing or VideoTiming.of_every_frame(grid.frames * temporal)
    stamps = timing.stamps(temporal)
    if len(stamps) != grid.frames:
        raise PromptError(
            f"a video of {grid.frames} patches in time with the times of {len(timing.indices)} frames"
        )
    patches = "".join(f"<{stamp:.1f} seconds>{_START}{pad}{_END}" for stamp in stamps)
    return f"{_START}{patches}{_END}", [grid.frame_tokens] * grid.frames

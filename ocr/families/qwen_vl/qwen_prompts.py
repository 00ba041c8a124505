"""Prompts of Qwen-VL models as token ids: one user turn with an image or a video, and the beginning of the answer.

Source: the models' chat templates; transformers, processing_qwen3_vl.py and processing_qwen2_5_vl.py.
"""

from dataclasses import dataclass
from itertools import chain

from tokenizers import Tokenizer

from encoders.native.vision_grid import Kind, VisionGrid
from encoders.video_timing import VideoTiming
from ocr.model.prompt import IMAGE_TAG, PromptError

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
    tokenizer: Tokenizer,
    chat: ChatFormat,
    prompt: str,
    grid: VisionGrid,
    *,
    timing: VideoTiming | None = None,
    temporal: int = 2,
) -> tuple[int, ...]:
    """Returns the token ids of a prompt about one image or video, with as many pads as there are vision tokens.

    prompt: the user's text. The image stands where it says `<image>`, without that at its beginning. timing: of a
    video; by default its temporal patches are full and follow each other at the default rate. temporal: frames in a
    patch.

    Raises: PromptError if `<image>` stands in it twice, or if the tokenizer is not of such a model.
    """
    if timing is None:
        timing = VideoTiming.of_every_frame(grid.frames * temporal)
    vision, counts = _vision_text(chat, grid, timing, temporal)
    text = chat_text(chat, prompt, vision)
    pad_id = tokenizer.token_to_id(PADS[grid.kind])
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    if pad_id is None or ids.count(pad_id) != len(counts):
        raise PromptError(
            f"the prompt has {0 if pad_id is None else ids.count(pad_id)} tokens {PADS[grid.kind]}, expected "
            f"{len(counts)}: leave that text out of it, and use the tokenizer.json of the model"
        )
    left = iter(counts)
    pieces = ([pad_id] * next(left) if token_id == pad_id else [token_id] for token_id in ids)
    return tuple(chain.from_iterable(pieces))


def chat_text(chat: ChatFormat, prompt: str, vision: str) -> str:
    """Returns the turns as text. vision: stands for the image. Raises: PromptError if `<image>` stands in it twice."""
    pieces = prompt.split(IMAGE_TAG)
    if len(pieces) > 2:
        raise PromptError(
            f"the prompt {prompt!r} holds {IMAGE_TAG} {len(pieces) - 1} times; write it once, or not at all to have "
            "the image first"
        )
    content = vision + prompt if len(pieces) == 1 else vision.join(pieces)
    system = "" if chat.system is None else f"{_TURN_START}system\n{chat.system}{_TURN_END}\n"
    return f"{system}{_TURN_START}user\n{content}{_TURN_END}\n{_TURN_START}assistant\n"


def _vision_text(
    chat: ChatFormat, grid: VisionGrid, timing: VideoTiming, temporal: int
) -> tuple[str, list[int]]:
    """Returns the text that stands for the image or video, and for how many tokens each of its pads stands.

    Raises: PromptError for a timing of another number of frames.
    """
    pad = PADS[grid.kind]
    if grid.kind == "image" or not chat.stamps:
        return f"{_START}{pad}{_END}", [grid.num_tokens]
    stamps = timing.stamps(temporal)
    if len(stamps) != grid.frames:
        raise PromptError(
            f"a video of {grid.frames} patches in time with the times of {len(timing.indices)} frames"
        )
    patches = "".join(f"<{stamp:.1f} seconds>{_START}{pad}{_END}" for stamp in stamps)
    return f"{_START}{patches}{_END}", [grid.frame_tokens] * grid.frames

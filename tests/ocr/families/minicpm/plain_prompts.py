"""Prompts as published processors make them: chat template, marks in place of a tag, ids between marks."""

from collections.abc import Sequence

import jinja2
from tokenizers import Tokenizer

TAG = "(<image>./</image>)"
_CHATML = "{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}"
_SYSTEM = "{% if messages[0].role != 'system' %}<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n{% endif %}"
_LOOP = "{% for message in messages %}" + _CHATML + "{% endfor %}"
TEMPLATES = {
    "2.5": (
        "<|begin_of_text|>{% for message in messages %}{{ '<|start_header_id|>' + message.role + "
        "'<|end_header_id|>\n\n' + message.content | trim + '<|eot_id|>' }}{% endfor %}"
        "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}"
    ),
    "2.6": _SYSTEM + _LOOP + "{{ '<|im_start|>assistant\n' }}",
    "4.0": _LOOP + "{{ '<|im_start|>assistant\n' }}",
    "4.5": _LOOP + "{{ '<|im_start|>assistant\n' + ('' if enable_thinking else '<think>\n\n</think>\n\n') }}",
}


def marks(
    version: str, grid: tuple[int, int] | None, num_queries: int, with_id: bool, number: int = 0
) -> str:
    """Returns what stands for an image of this grid (columns, rows) of slices. number: from 0, of several."""
    image = "<image>" + "<unk>" * num_queries + "</image>"
    slices = []
    for _ in range(grid[1] if grid else 0):
        for _ in range(grid[0] if grid else 0):
            slices.append(image if version == "2.5" else "<slice>" + "<unk>" * num_queries + "</slice>")
        slices.append("\n")
    cut = "".join(slices[:-1])
    if version == "2.5":
        return image + (f"<slice>{cut}</slice>" if grid else "")
    return (f"<image_id>{number}</image_id>" if with_id else "") + image + cut


def plain_prompt(
    tokenizer: Tokenizer,
    version: str,
    question: str,
    num_queries: int,
    grid: tuple[int, int] | None = None,
    groups: Sequence[int] = (),
) -> tuple[list[int], list[int]]:
    """Returns ids and the indices of vision tokens. groups: the lengths of a video's groups of frames."""
    frames = sum(groups) or 1
    content = "\n".join([TAG] * frames + [question])
    template = jinja2.Environment(trim_blocks=False).from_string(TEMPLATES[version])
    text = template.render(messages=[{"role": "user", "content": content}], enable_thinking=False)
    pieces = text.split(TAG)
    starts = [sum(groups[:place]) for place in range(len(groups))] or [0]
    whole = ""
    for place, piece in enumerate(pieces[:-1]):
        if place in starts:
            whole += piece + marks(version, grid, num_queries, with_id=not groups)
        else:
            whole += piece.strip()
    return with_places(tokenizer, version, whole + pieces[-1])


def plain_prompt_of_several(
    tokenizer: Tokenizer,
    version: str,
    question: str,
    num_queries: int,
    grids: Sequence[tuple[int, int] | None],
) -> tuple[list[int], list[int]]:
    """Returns the same of several images, as published `chat` lists them before the question."""
    template = jinja2.Environment(trim_blocks=False).from_string(TEMPLATES[version])
    content = "\n".join([TAG] * len(grids) + [question])
    text = template.render(messages=[{"role": "user", "content": content}], enable_thinking=False)
    for number, grid in enumerate(grids):
        text = text.replace(TAG, marks(version, grid, num_queries, with_id=True, number=number), 1)
    return with_places(tokenizer, version, text)


def with_places(tokenizer: Tokenizer, version: str, text: str) -> tuple[list[int], list[int]]:
    ids = tokenizer.encode(text).ids
    opening = ["<image>"] if version == "2.5" else ["<image>", "<slice>"]
    closing = ["</image>"] if version == "2.5" else ["</image>", "</slice>"]
    begins = [i + 1 for i, token in enumerate(ids) if tokenizer.id_to_token(token) in opening]
    ends = [i for i, token in enumerate(ids) if tokenizer.id_to_token(token) in closing]
    return ids, [i for begin, end in zip(begins, ends, strict=True) for i in range(begin, end)]

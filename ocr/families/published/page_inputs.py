"""Prepares pages for a published model with its own processor, and puts several pages' inputs together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional

from encoders.views import PageViews
from ocr.families.catalogue.published_models import PublishedModel
from ocr.model.prompt import IMAGE_TAG


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PageInputs:
    """A page as generate takes it, but for its pixels. Tensors of one page, [1, ...].

    inputs: input_ids and what goes with them. features: the vision encoder's output, a ModelOutput; None for a model
    that encodes within generate, whose pixels are among the inputs.
    """

    inputs: Mapping[str, Tensor]
    features: Any

    @property
    def num_tokens(self) -> int:
        return int(self.inputs["input_ids"].shape[1])


class Prompting:
    """Makes a model's inputs of a page. prompt: the user's, with `<image>` where the page belongs; None for its own."""

    def __init__(self, processor: Any, known: PublishedModel, prompt: str | None) -> None:
        self._processor, self._known = processor, known
        text = known.prompts["page"] if prompt is None else prompt
        before, _, after = text.partition(IMAGE_TAG)
        self._is_image_first = not before.strip()
        self._plain = " ".join(filter(None, (before.strip(), after.strip())))
        self._raw = text

    def __call__(self, views: PageViews, **changes: Any) -> dict[str, Tensor]:
        """Returns the processor's output for a page: tensors [1, ...], or of as many rows as it has pictures.

        changes: settings of the processor.
        """
        picture = self._picture(views)
        settings = {"return_tensors": "pt", **self._known.processor, **changes}
        if self._known.prompting == "processor":
            made = self._processor(images=picture, **settings)
        else:
            text = self._raw if self._known.prompting == "raw" else self._chat()
            made = self._processor(text=[text], images=[[picture]], **settings)
        return {key: value for key, value in made.items() if isinstance(value, Tensor)}

    def _picture(self, views: PageViews) -> Image.Image:
        picture = Image.fromarray(views.global_view.transpose(1, 2, 0))
        longest = self._known.longest_px
        if longest is not None and max(picture.size) > longest:
            picture.thumbnail((longest, longest), Image.Resampling.LANCZOS)
        return picture

    def _chat(self) -> str:
        image = {"type": "image"}
        words = [{"type": "text", "text": self._plain}] if self._plain else []
        content = [image, *words] if self._is_image_first else [*words, image]
        chat: str = self._processor.apply_chat_template(
            [{"role": "user", "content": content}],
            tokenize=False,
            add_generation_prompt=True,
            **self._known.template,
        )
        return chat


def together(pages: Sequence[PageInputs], pad_id: int) -> dict[str, Any]:
    """Returns the inputs of several pages for one generate: what goes along with the tokens is padded on the left.

    Everything else is by picture, one page's after the other's.
    """
    length = max(page.num_tokens for page in pages)
    merged: dict[str, Any] = {}
    for key, first in pages[0].inputs.items():
        along = first.shape[:2] == pages[0].inputs["input_ids"].shape
        rows = [page.inputs[key] for page in pages]
        if along:
            fill = pad_id if key == "input_ids" else 0
            rows = [functional.pad(row, (length - row.shape[1], 0), value=fill) for row in rows]
        merged[key] = torch.cat(rows)
    if pages[0].features is not None:
        merged["mm_encoder_outputs"] = {"image": joined([page.features for page in pages])}
    return merged


def joined(features: Sequence[Any]) -> Any:
    """Returns several pages' vision outputs as one: what is by picture follows each other, by layer in each layer."""
    first = features[0]
    if len(features) == 1:
        return type(first)(**dict(first))  # generate may change it
    values = {"pooler_output": _chained([its["pooler_output"] for its in features])}
    if (layers := first.get("deepstack_features")) is not None:
        values["deepstack_features"] = [
            _chained([its["deepstack_features"][place] for its in features]) for place in range(len(layers))
        ]
    return type(first)(**values)


def _chained(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], Tensor):
        return torch.cat(list(parts))
    return [entry for part in parts for entry in part]

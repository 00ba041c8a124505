"""A published model's processor: loads it, makes pages' inputs with it, and puts several pages' inputs together.

It is loaded also where a part of it that pages do not need cannot be loaded.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from PIL import Image
from torch import Tensor
from torch.nn import functional
from transformers import AutoImageProcessor, AutoProcessor, AutoTokenizer
from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES

from encoders.views import PageViews
from ocr.errors import CheckpointError
from ocr.families.catalogue.published_models import PublishedModel
from ocr.model.prompt import IMAGE_TAG
from ocr.model_files.locate import read_json

_OWN = {"local_files_only": True, "trust_remote_code": False}
_CONFIGS = ("processor_config.json", "preprocessor_config.json", "tokenizer_config.json")


class _NoVideos:
    """Stands in for a video processor, of which torchvision is a part. Processors ask for these attributes."""

    slice_mode, downsample_mode, merge_size, num_frames, fps, _auto_class = False, "16x", 2, 1, 1, None


def load_processor(directory: Path) -> Any:
    """Returns a processor of pictures and text. Raises: CheckpointError, OSError, ValueError, ImportError."""
    try:
        processor = AutoProcessor.from_pretrained(directory, backend="pil", **_OWN)
    except (ImportError, ValueError):  # without torchvision, by the type of the video processor
        return _assembled(directory)
    # For some types transformers knows no processor, and returns the tokenizer instead.
    return processor if hasattr(processor, "tokenizer") else _assembled(directory)


def _assembled(directory: Path) -> Any:
    """Returns the processor made of its parts, with a stand-in for videos."""
    known = _class_of(directory)
    # It checks the classes of its parts, of which one is a stand-in.
    unchecked = {"check_argument_for_proper_class": lambda self, name, value: type(value)}
    bare = type(known.__name__, (known,), unchecked)
    tokenizer = AutoTokenizer.from_pretrained(directory, **_OWN)
    parts = {
        "image_processor": AutoImageProcessor.from_pretrained(directory, backend="pil", **_OWN),
        "tokenizer": tokenizer,
        "chat_template": tokenizer.chat_template,
    }
    if "video_processor" in known.get_attributes():
        parts["video_processor"] = _NoVideos()
    path, taken = directory / _CONFIGS[0], inspect.signature(known.__init__).parameters
    settings = read_json(path) if path.exists() else {}
    return bare(**{key: value for key, value in settings.items() if key in taken} | parts)


def _class_of(directory: Path) -> Any:
    """Returns the class that the model's files name, else the one that transformers has for its type."""
    for name in _CONFIGS:
        if (directory / name).exists() and (named := read_json(directory / name).get("processor_class")):
            found = getattr(transformers, str(named), None)
            if found is not None:
                return found
    kind = str(read_json(directory / "config.json").get("model_type"))
    if (known := getattr(transformers, str(PROCESSOR_MAPPING_NAMES.get(kind)), None)) is not None:
        return known
    raise CheckpointError(
        f"{directory}: none of {', '.join(_CONFIGS)} names a processor_class that transformers has; fetch all of the "
        "model's files, and see that transformers is as new as the model needs"
    )


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

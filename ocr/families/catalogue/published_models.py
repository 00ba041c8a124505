"""Reads models.yaml: how the published document models are prompted and stopped, what they write, under what licence.

Torch-free. A model that the table does not know is still read, with settings of the user's.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import yaml
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from ocr.errors import ModelTableError
from ocr.types import Format, OutputFormat

IMAGE_TAG = "<image>"  # ocr.model.prompt's, which imports torch

TABLE = Path(__file__).with_name("models.yaml")
Commercial = Literal["allowed", "restricted", "forbidden"]
Prompting = Literal["chat", "raw", "processor"]
_STRICT = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Licence:
    """name: SPDX where there is one. commercial: "restricted" by size of the firm, country or kind of use."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    name: str
    commercial: Commercial


@dataclass(frozen=True, slots=True, kw_only=True)
class NGram:
    """No n-gram of `size` tokens occurs twice within the last `window` generated ones."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    size: int
    window: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedModel:
    """One entry of the table.

    hub: pattern of the repositories it is for, as of fnmatch, upper and lower case alike.
    model_type: transformers' type that its weights are loaded as. published_type: another that its config.json gives.
    sizes: keys of its config.json's language model, with values that tell it from others of its type.
    prompts: by task; "page" is always there, and empty for a model that is shown the page alone; "pages" is for several
        pages in one prompt, before each of which it writes `<PAGE>`.
    prompting: "chat" puts the prompt into the chat template beside the image; "raw" gives it to the processor as it is;
        "processor" leaves it to the processor, which writes one itself.
    template, processor: keyword arguments of the chat template and of the processor.
    format: markdown_html_tables has its tables as HTML; doctags and doclang are docling's markups; json_layout has
        regions with boxes; ref_det is DeepSeek-OCR's <|ref|>label<|/ref|><|det|>[[x1, y1, x2, y2]]<|/det|> before each
        block, det Unlimited-OCR's <|det|>label [x1, y1, x2, y2]<|/det|>.
    front_matter: the text begins with YAML between lines of ---. keep_special_tokens: the format is made of them.
    stop: texts to end at, besides the end token of its generation_config.json.
    longest_px: what the page is scaled down to before the processor; None leaves it to the processor.
    unverified: keys whose values were not found where the model is published.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    name: str
    hub: str
    model_type: str
    prompts: Mapping[str, str]
    format: Format
    max_new_tokens: int
    licence: Licence
    published_type: str | None = None
    sizes: Mapping[str, object] = field(default_factory=dict)
    prompting: Prompting = "chat"
    template: Mapping[str, object] = field(default_factory=dict)
    processor: Mapping[str, object] = field(default_factory=dict)
    front_matter: bool = False
    keep_special_tokens: bool = False
    stop: tuple[str, ...] = ()
    ngram: NGram | None = None
    longest_px: int | None = None
    unverified: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if "page" not in self.prompts:
            raise ModelTableError(f"{self.name}: prompts.page is missing; every model needs one, if empty")
        unknown = set(self.unverified) - {entry.name for entry in fields(self)}
        if unknown:
            raise ModelTableError(f"{self.name}: unverified names {', '.join(sorted(unknown))}, no key of it")

    @property
    def types(self) -> tuple[str, ...]:
        """What its config.json may give as its type."""
        return (self.model_type,) if self.published_type is None else (self.model_type, self.published_type)

    @property
    def output_format(self) -> OutputFormat:
        """How the model writes a page's text when asked by its own prompt."""
        return OutputFormat(
            name=self.format, front_matter=self.front_matter, keeps_special_tokens=self.keep_special_tokens
        )

    def format_for(self, prompt: str) -> OutputFormat:
        """Returns how the model writes a page's text. prompt: with or without the page's place.

        The format goes with the page's own prompt. What another one makes of a page nobody says: it is taken as it is
        written, with the special tokens that the model's format is made of.
        """
        if _words(prompt) == _words(self.prompts["page"]):
            return self.output_format
        return OutputFormat(name="markdown", keeps_special_tokens=self.keep_special_tokens)

    def fits(self, repository: str) -> bool:
        """Returns whether it is for this repository of the Hugging Face hub, "owner/name"."""
        return fnmatchcase(repository.lower(), self.hub.lower())


_TABLE: TypeAdapter[tuple[PublishedModel, ...]] = TypeAdapter(tuple[PublishedModel, ...])


def _words(prompt: str) -> list[str]:
    return prompt.replace(IMAGE_TAG, " ").split()


@cache
def published_models() -> tuple[PublishedModel, ...]:
    """Returns all entries in the table's order. Raises: ModelTableError."""
    return read_table(TABLE.read_text(encoding="utf-8"))


def find_model(repository: str) -> PublishedModel | None:
    """Returns the first entry for a repository "owner/name", None where the table has none."""
    return next((model for model in published_models() if model.fits(repository)), None)


def read_table(text: str) -> tuple[PublishedModel, ...]:
    """Returns a table's entries. Raises: ModelTableError, by the key, for one that is unknown, missing or mistyped."""
    rows = yaml.safe_load(text)
    if not isinstance(rows, list):
        raise ModelTableError("the table is not a list of models; begin each with - name:")
    try:  # as JSON, whose lists are tuples too where all else is strict
        models = _TABLE.validate_json(json.dumps(rows))
    except ValidationError as error:
        raise ModelTableError("; ".join(_told(fault, rows) for fault in error.errors())) from error
    names = [model.name for model in models]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise ModelTableError(f"{', '.join(doubled)}: two models of one name; rename one")
    return models


def _told(fault: ErrorDetails, rows: list[Any]) -> str:
    """Returns where a fault is, by the model's name and the keys, what stands there, and what is wanted."""
    index, *keys = fault["loc"]
    row = rows[int(index)]
    name = row.get("name") if isinstance(row, dict) else None
    where = ".".join(map(str, [name or f"model {index}", *keys]))
    return f"{where} is {fault['input']!r}: {fault['msg']}"

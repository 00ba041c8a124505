"""What a run must know of a family of models before it loads one. Torch-free: workers and configuration ask."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ocr.families.catalogue.known_model import ModelFacts, known_model
from ocr.families.view_makers import VideoMaker, ViewMaker
from ocr.model_files.locate import read_json

if TYPE_CHECKING:
    from ocr.families.page_model import PageModel

Kind = Literal["pdf", "image"]
NumberFormat = Literal["float32", "bfloat16"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """What a model is loaded from and how. name: as the user gave it. device: "cpu" or "cuda".

    prompt: the user's, None for the model's own. entry: see ModelFacts.
    """

    directory: Path
    name: str
    device: str
    dtype: NumberFormat
    encoder_dtype: NumberFormat
    prompt: str | None
    entry: str | None = None

    def facts(self) -> ModelFacts:
        """Returns what is known before it is loaded. Raises: CheckpointError for a config.json that is no JSON."""
        return ModelFacts(name=self.name, config=read_json(self.directory / "config.json"), entry=self.entry)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Family:
    """Models of one architecture, or that one piece of code loads. name: how messages call it.

    module: has a function `load`, which takes a Loading; it is imported only then, as it imports torch.
    knows: returns whether it loads models with this config.json.
    view_maker: returns what makes the pages' views, by the model's directory; None for DeepSeek-OCR's global view and
        tiles, which have settings. Raises CheckpointError for a file that is missing or says nothing usable.
    video_maker: returns what makes the views of videos; None for a model that reads none. Raises CheckpointError.
    several: returns what makes the views of pages that share a prompt, by what makes a page's; None for models that
        take one picture in a prompt.
    files: patterns of further files that a reading depends on, besides weights, config.json and tokenizer.json.
    has_entries: whether its models' prompts, formats, n-grams and licences are entries of catalogue/models.yaml.
    ngrams: of a family without entries; see ngram().
    """

    name: str
    module: str
    knows: Callable[[Mapping[str, Any]], bool]
    view_maker: Callable[[Path], ViewMaker | None] = lambda directory: None
    video_maker: Callable[[Path], VideoMaker | None] = lambda directory: None
    several: Callable[[ViewMaker], ViewMaker] | None = None
    files: tuple[str, ...] = ()
    has_entries: bool = True
    ngrams: Mapping[Kind, tuple[int, int]] = field(default_factory=dict)

    def load(self, asked: Loading) -> "PageModel":
        """Returns the model. Raises: CheckpointError, naming the file, key or tensors and what to do; PromptError."""
        loaded: PageModel = importlib.import_module(self.module).load(asked)
        return loaded

    def defaults(self, facts: ModelFacts) -> str:
        """Returns, as a text, what a reading depends on besides the model's files; "" for nothing.

        Of entries all but n-grams, which the configuration has.
        """
        if not self.has_entries:
            return ""
        known = known_model(facts).model
        settings = (known.prompts["page"], known.prompting, dict(known.template), dict(known.processor))
        return repr((*settings, known.stop, known.longest_px, known.output_format))

    def restriction(self, facts: ModelFacts) -> str | None:
        """Returns what a model's licence says against commercial use, None if nothing is known against it."""
        licence = known_model(facts).model.licence if self.has_entries else None
        if licence is None or licence.commercial == "allowed":
            return None
        return f"{licence.name}: commercial use is {licence.commercial}"

    def entry(self, facts: ModelFacts) -> str | None:
        """Returns which entry of catalogue/models.yaml a model is taken for, and why; None without such entries."""
        known = known_model(facts) if self.has_entries else None
        return None if known is None else f"{known.model.name}, {known.reason}"

    def ngram(self, kind: Kind, facts: ModelFacts | None = None) -> tuple[int, int]:
        """Returns size and window of the no-repeat n-gram that published scripts use; size 0 for none.

        facts: of the model; None for the family's usual one.
        """
        found = known_model(facts).model.ngram if self.has_entries and facts is not None else None
        return self.ngrams.get(kind, (0, 1)) if found is None else (found.size, found.window)

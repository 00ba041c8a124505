"""Prepares the subject of `ocrbatch bench pipeline`: the model for the run, and the run's configuration.

Imports torch only where the run itself would, so that the time to the first page is that of a run.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer

from ocr.families.deepseek.deepseek_family import DeepSeekFamily
from ocr.families.registry import family_of
from ocr.imaging.tiling import MODES, Mode, layout
from ocr.model_files.locate import (
    INDEX,
    WEIGHTS,
    find_directory,
    read_ahead,
    read_json,
    read_tokenizer,
    weight_files,
)
from pipeline.bench.model_names import RANDOM
from pipeline.bench.real_pages import first_pages
from pipeline.bench.roofline.token_counts import global_tokens, tile_tokens
from pipeline.config import sources
from pipeline.config.schema import Config
from pipeline.config.sources import Layer
from pipeline.device.startup.loading import (
    available_cpus,
    calm_threads,
    choose_device,
    choose_dtype,
    load_model,
)
from pipeline.documents.settings import TileSettings
from pipeline.errors import ConfigError

if TYPE_CHECKING:
    from ocr.families.page_model import PageModel
    from ocr.model.deepseek_ocr import OcrConfig

DEFAULT_PROMPT = (
    "<image>\n<|grounding|>Convert the document to markdown."  # ocr.model.deepseek_ocr's, which imports torch
)


class Subject:
    """A model of any family by its name. "random" is DeepSeek-OCR at full size.

    A directory without weights is a model of its shape, which must be DeepSeek-OCR's. Both of these have random
    weights. folder: for their stand-in files, as a run requires a model to have files. has_modes: whether pages become
    DeepSeek-OCR's views, so that the length of a prompt is known before the model is loaded.

    Raises: CheckpointError; ConfigError for a shape that random weights are not drawn for.
    """

    def __init__(self, name: str, folder: Path) -> None:
        if name.startswith(f"{RANDOM}:"):
            raise ConfigError(
                f"--model {name}: whole runs take {RANDOM!r}, which is DeepSeek-OCR, or a model with weights"
            )
        self._shape: Path | None = None
        self.is_random = name == RANDOM or _has_no_weights(Path(name))
        self.model = name
        if self.is_random:
            self._shape = None if name == RANDOM else Path(name)
            self.model = str(folder)
            _write_stand_in(folder, self._shape)
        directory = find_directory(self.model)
        family = family_of(directory)
        if self.is_random and not isinstance(family, DeepSeekFamily):
            raise ConfigError(
                f"--model {name}: it has no weights, and random ones are drawn for models of DeepSeek-OCR's shape alone"
            )
        self.has_modes = self.is_random or family.view_maker(directory) is None

    def prompt_words(self, prompt: str | None) -> int:
        """Returns the number of prompt tokens besides the page's own, beginning of text included."""
        directory = find_directory(self.model)
        text = prompt or _own_prompt(directory)
        tokenizer = None if self.is_random else read_tokenizer(directory / "tokenizer.json")
        return 1 + sum(_num_tokens(tokenizer, piece) for piece in text.strip().split("<image>"))

    def load(self, config: Config) -> "PageModel":
        """Returns the model on the configured device. Raises: CheckpointError, ConfigError."""
        if not self.is_random:
            return load_model(config)
        import torch

        from pipeline.bench.random_model import random_loaded

        torch.set_num_threads(config.threads or available_cpus())
        device = choose_device(config.device)
        dtype = getattr(torch, choose_dtype(config.dtype, device))
        return random_loaded(_shape(self._shape), torch.device(device), dtype)


class Loader:
    """A timed `load` for a run. then: called with the model.

    output_tokens: so many are written on each page, which for models of DeepSeek-OCR's shape takes a configuration of
    bench_config(); other families write at most so many. None for pages that end by themselves.
    imported_at_s, loaded_at_s: time.perf_counter() when torch was imported and the model loaded; 0 before.
    """

    def __init__(
        self, subject: Subject, *, output_tokens: int | None, then: "Callable[[PageModel], None]"
    ) -> None:
        self._subject = subject
        self._output_tokens = output_tokens
        self._then = then
        self.imported_at_s = self.loaded_at_s = 0.0
        self.loaded: PageModel | None = None

    def __call__(self, config: Config) -> "PageModel":
        calm_threads()
        if not self._subject.is_random:
            read_ahead(weight_files(find_directory(config.model)))  # as load_model does before it imports
        from ocr.checkpoints import checkpoint as checkpoint  # and with it torch and transformers

        self.imported_at_s = time.perf_counter()
        loaded = self._subject.load(config)
        if self._output_tokens is not None:
            loaded = _bounded(loaded, self._output_tokens)
        self.loaded = loaded
        self.loaded_at_s = time.perf_counter()
        self._then(loaded)
        return loaded


def _bounded(loaded: "PageModel", output_tokens: int) -> "PageModel":
    """Returns the model that ends no page by itself, or else writes at most so many tokens."""
    from ocr.checkpoints.checkpoint import LoadedModel
    from pipeline.bench.whole_run.bounded_reading import BoundedModel

    if isinstance(loaded, LoadedModel):  # no token has this id
        return replace(loaded, eos_id=loaded.model.config.language.vocab_size)
    bounded: Any = BoundedModel(loaded, output_tokens)
    found: PageModel = bounded
    return found


def bench_config(
    subject: Subject,
    paths: Sequence[str],
    database: Path,
    *,
    output_tokens: int | None,
    sets: Sequence[str] = (),
    options: Sequence[Layer] = (),
) -> Config:
    """Returns the configuration of the run. Raises: ConfigError.

    output_tokens: exactly what is written on each page as large as the first one; pages with fewer tiles write more,
    pages with more tiles fewer. Of other families than DeepSeek-OCR's the loader bounds each page by itself, within
    decode.max_tokens. Nothing then has a page read again.
    """
    own: list[Layer] = [
        ("PATH", {"ingest": {"paths": list(paths)}}),
        ("--model", {"model": subject.model}),
        ("the benchmark", {"store": {"database": str(database)}, **_reading(sets)}),
        *options,
    ]
    config = sources.load(None, sets, own)
    if output_tokens is None:
        return config
    most = config.decode.max_tokens
    if subject.has_modes:
        most = _vision_tokens(paths, config) + subject.prompt_words(config.decode.prompt) + output_tokens
    fixed: dict[str, Any] = {
        "ladder": {"rungs": []},
        "text_layer": "ignore",  # in any case: a page that is not read writes no tokens
        "decode": {
            "max_tokens": most,
            "loop": {"tokens": 0},
        },
    }
    return sources.load(None, sets, [*own, ("--output-tokens", fixed)])


def _reading(sets: Sequence[str]) -> dict[str, str]:
    """Returns the settings for the page model to read every page, but for those that --set makes otherwise."""
    own = {"text_layer": "ignore", "reader": "page"}
    return {key: value for key, value in own.items() if not any(one.startswith(f"{key}=") for one in sets)}


def _vision_tokens(paths: Sequence[str], config: Config) -> int:
    mode: Mode = config.tile.mode
    (first,) = first_pages(paths, TileSettings(mode=mode, max_tiles=config.tile.max_tiles), 1, "PATH")
    grid = layout(first.width_px, first.height_px, mode, config.tile.max_tiles).grid
    return global_tokens(MODES[mode].base_px) + tile_tokens(grid)


def _has_no_weights(directory: Path) -> bool:
    if not (directory / "config.json").exists():
        return False
    return not (directory / INDEX).exists() and not any(directory.glob("*.safetensors"))


def _write_stand_in(folder: Path, shape: Path | None) -> None:
    """Writes the files that a run needs for its settings' hash and to decide on crops; the weights are empty."""
    config = (
        '{"model_type": "deepseek_vl_v2"}'
        if shape is None
        else (shape / "config.json").read_text(encoding="utf-8")
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(config, encoding="utf-8")
    for name in (WEIGHTS, "tokenizer.json"):
        (folder / name).write_bytes(b"")


def _shape(directory: Path | None) -> "OcrConfig":
    from ocr.model.deepseek_ocr import OcrConfig

    return OcrConfig() if directory is None else OcrConfig.from_json(read_json(directory / "config.json"))


def _own_prompt(directory: Path) -> str:
    ours = read_json(directory / "config.json").get("ocrbatch", {})
    return str(ours.get("prompt", DEFAULT_PROMPT))


def _num_tokens(tokenizer: Tokenizer | None, text: str) -> int:
    """Returns the number of tokens in a text. tokenizer: None for random weights', to which any text is one word."""
    return bool(text) if tokenizer is None else len(tokenizer.encode(text, add_special_tokens=False).ids)

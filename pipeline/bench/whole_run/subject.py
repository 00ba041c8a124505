"""Prepares the subject of `ocrbatch bench pipeline`: the model for the run, and the run's configuration.

Imports torch only where the run itself would, so that the time to the first page is that of a run.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer

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
    from ocr.checkpoints.checkpoint import LoadedModel
    from ocr.model.deepseek_ocr import OcrConfig

DEFAULT_PROMPT = (
    "<image>\n<|grounding|>Convert the document to markdown."  # ocr.model.deepseek_ocr's, which imports torch
)


class Subject:
    """A model by its name. "random" is DeepSeek-OCR at full size, a directory without weights a model of its shape.

    Both of these have random weights. folder: for their stand-in files, as a run requires a model to have files.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self._shape: Path | None = None
        self.is_random = name == RANDOM or _has_no_weights(Path(name))
        self.model = name
        if self.is_random:
            self._shape = None if name == RANDOM else Path(name)
            self.model = str(folder)
            _write_stand_in(folder, self._shape)

    def prompt_words(self, prompt: str | None) -> int:
        """Returns the number of prompt tokens besides the page's own, beginning of text included."""
        directory = find_directory(self.model)
        text = prompt or _own_prompt(directory)
        tokenizer = None if self.is_random else read_tokenizer(directory / "tokenizer.json")
        return 1 + sum(_num_tokens(tokenizer, piece) for piece in text.strip().split("<image>"))

    def load(self, config: Config) -> "LoadedModel":
        """Returns the model on the configured device. Raises: CheckpointError, ConfigError."""
        if not self.is_random:
            from ocr.checkpoints.checkpoint import LoadedModel

            loaded = load_model(config)
            if not isinstance(loaded, LoadedModel):
                raise ConfigError(
                    f"--model {self.model}: only models of DeepSeek-OCR's shape can be measured"
                )
            return loaded
        import torch

        from pipeline.bench.random_model import random_loaded

        torch.set_num_threads(config.threads or available_cpus())
        device = choose_device(config.device)
        dtype = getattr(torch, choose_dtype(config.dtype, device))
        return random_loaded(_shape(self._shape), torch.device(device), dtype)


class Loader:
    """A timed `load` for a run. endless: no page ends by itself. then: called with the model.

    imported_at_s, loaded_at_s: time.perf_counter() when torch was imported and the model loaded; 0 before.
    """

    def __init__(self, subject: Subject, *, endless: bool, then: "Callable[[LoadedModel], None]") -> None:
        self._subject = subject
        self._endless = endless
        self._then = then
        self.imported_at_s = self.loaded_at_s = 0.0
        self.loaded: LoadedModel | None = None

    def __call__(self, config: Config) -> "LoadedModel":
        calm_threads()
        if not self._subject.is_random:
            read_ahead(weight_files(find_directory(config.model)))  # as load_model does before it imports
        from ocr.checkpoints import checkpoint as checkpoint  # and with it torch and transformers

        self.imported_at_s = time.perf_counter()
        loaded = self._subject.load(config)
        if self._endless:  # no token has this id
            loaded = replace(loaded, eos_id=loaded.model.config.language.vocab_size)
        self.loaded = loaded
        self.loaded_at_s = time.perf_counter()
        self._then(loaded)
        return loaded


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
    pages with more tiles fewer. Nothing then ends a page early or has it read again.
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
    prompt = _vision_tokens(paths, config) + subject.prompt_words(config.decode.prompt)
    fixed: dict[str, Any] = {
        "tile": {"retry_below": 0},
        "ladder": {"rungs": []},
        "text_layer": "ignore",  # in any case: a page that is not read writes no tokens
        "decode": {
            "max_tokens": prompt + output_tokens,
            "loop": {"tokens": 0},
            "length": {"min_share": 0, "max_share": 0},
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

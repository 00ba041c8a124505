"""Prepares the subject of `ocrbatch bench pipeline`: the model for the run, and the run's configuration.

Imports torch only where the run itself would, so that the time to the first page is that of a run.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ocr.families.registry import DEEPSEEK, family_of
from ocr.model_files.locate import INDEX, WEIGHTS, find_directory, read_ahead, read_json, weight_files
from pipeline.bench.bench_figures import RANDOM
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
from pipeline.errors import ConfigError

if TYPE_CHECKING:
    from ocr.families.page_model import PageModel


class Subject:
    """A model of any family by its name. "random" is DeepSeek-OCR at full size.

    A directory without weights is a model of its shape, which must be DeepSeek-OCR's. Both of these have random
    weights. folder: for their stand-in files, as a run requires a model to have files. loaded: once it is.
    imported_at_s, loaded_at_s: time.perf_counter() when torch was imported and the model loaded; 0 before.

    Raises: CheckpointError; ConfigError for a shape that random weights are not drawn for.
    """

    imported_at_s = loaded_at_s = 0.0
    loaded: "PageModel | None" = None

    def __init__(self, name: str, folder: Path) -> None:
        if name.startswith(f"{RANDOM}:"):
            raise ConfigError(
                f"--model {name}: whole runs take {RANDOM!r}, which is DeepSeek-OCR, or a model with weights"
            )
        self.is_random = name == RANDOM or _has_no_weights(Path(name))
        self.model = str(folder) if self.is_random else name
        self._shape = None if name == RANDOM else Path(name) / "config.json"
        if self.is_random:
            _write_stand_in(folder, self._shape)
        family = family_of(find_directory(self.model))
        if self.is_random and family is not DEEPSEEK:
            raise ConfigError(
                f"--model {name}: it has no weights, and random ones are drawn for models of DeepSeek-OCR's shape alone"
            )

    def load(self, config: Config) -> "PageModel":
        """Returns the model on the configured device. Raises: CheckpointError, ConfigError."""
        if not self.is_random:
            return load_model(config)
        import torch

        from ocr.model.deepseek_ocr import OcrConfig
        from pipeline.bench.random_model import random_loaded

        shape = OcrConfig() if self._shape is None else OcrConfig.from_json(read_json(self._shape))
        torch.set_num_threads(config.threads or available_cpus())
        device = choose_device(config.device)
        dtype = getattr(torch, choose_dtype(config.dtype, device))
        return random_loaded(shape, torch.device(device), dtype)

    def load_for_run(
        self, config: Config, *, output_tokens: int | None, then: "Callable[[PageModel], None]"
    ) -> "PageModel":
        """Loads the model as a run does, and notes when. then: called with it.

        output_tokens: so many are written on each page, at most so many by models of other families than DeepSeek-OCR;
        None for pages that end by themselves. `loaded` is the model without that bound.
        """
        calm_threads()
        if not self.is_random:
            read_ahead(weight_files(find_directory(config.model)))  # as load_model does before it imports
        from pipeline.bench.whole_run.bounded_reading import bounded  # and with it torch and transformers

        self.imported_at_s = time.perf_counter()
        self.loaded = self.load(config)
        self.loaded_at_s = time.perf_counter()
        then(self.loaded)
        return self.loaded if output_tokens is None else bounded(self.loaded, output_tokens)


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

    output_tokens: where the loader bounds what is written on each page; nothing then has a page read again.
    """
    # The model reads every page, unless --set has it otherwise.
    reads = {} if any(one.startswith("text_layer=") for one in sets) else {"text_layer": "ignore"}
    own: list[Layer] = [
        ("PATH", {"ingest": {"paths": list(paths)}}),
        ("--model", {"model": subject.model}),
        ("the benchmark", {"store": {"database": str(database)}, **reads}),
        *options,
    ]
    if output_tokens is not None:
        # A page that is not read, as its text layer is taken, would write no tokens.
        fixed: dict[str, Any] = {
            "ladder": {"rungs": []},
            "text_layer": "ignore",
            "decode": {"loop": {"tokens": 0}},
        }
        own.append(("--output-tokens", fixed))
    return sources.load(None, sets, own)


def _has_no_weights(directory: Path) -> bool:
    if not (directory / "config.json").exists():
        return False
    return not (directory / INDEX).exists() and not any(directory.glob("*.safetensors"))


def _write_stand_in(folder: Path, shape: Path | None) -> None:
    """Writes the files that a run needs for its settings' hash and to decide on crops; the weights are empty."""
    config = '{"model_type": "deepseek_vl_v2"}' if shape is None else shape.read_text(encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(config, encoding="utf-8")
    for name in (WEIGHTS, "tokenizer.json"):
        (folder / name).write_bytes(b"")

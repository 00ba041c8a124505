"""Opens the models that a run reads with: the configured one, its line reader, and those of retry steps."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ocr.model_files.locate import LINES, SHIPPED, find_directory
from pipeline.config.schema import Config, other_models, reads_lines, tile_settings, with_model
from pipeline.device.line_readers import LineReaders
from pipeline.device.processes.replicas import Replicas
from pipeline.device.service import ModelService
from pipeline.device.startup.loading import line_readers, load_model, num_replicas, word_readers
from pipeline.device.threads.threaded_model import Model
from pipeline.device.tickets import LoadedOn

if TYPE_CHECKING:
    from ocr.families.page_model import PageModel

# Of the processes that find words: the model goes first, above all what feeds a GPU.
_NICENESS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """first: reads pages, or reads again what the line reader leaves. lines: reads pages line by line first, or None.

    words: finds words that a model says no places of, None where none does. others: the models that retry steps name.
    """

    first: ModelService
    lines: LineReaders | None
    words: LineReaders | None
    others: Mapping[str, ModelService]

    @property
    def all(self) -> list[ModelService]:
        """The page models, the configured one first."""
        return [self.first, *self.others.values()]

    def expect(self) -> None:
        """Begins with what loading takes long, where something will be read."""
        if self.lines is None:
            self.first.prepare()
        else:
            self.lines.start()


@contextlib.contextmanager
def opened(
    config: Config,
    load: "Callable[[Config], PageModel] | None" = None,
    when_loaded: Callable[[LoadedOn], None] | None = None,
) -> Iterator[Models]:
    """Yields the models, none of them loaded yet, and closes them. load, when_loaded: see `runner.run`."""
    with contextlib.ExitStack() as closing:
        first = closing.enter_context(contextlib.closing(_model(config, load, when_loaded)))
        others = {
            name: closing.enter_context(contextlib.closing(Model(with_model(config, name), load_model)))
            for name in other_models(config)
        }
        lines, words = _lines(config), _words(config)
        for readers in (lines, words):
            if readers is not None:
                closing.callback(readers.close)
        yield Models(first=first, lines=lines, words=words, others=others)


def _model(
    config: Config,
    load: "Callable[[Config], PageModel] | None",
    when_loaded: Callable[[LoadedOn], None] | None,
) -> ModelService:
    number = 1 if load is not None else num_replicas(config)
    if number > 1:
        return Replicas(config, number, when_loaded)
    return Model(config, load or load_model)


def _lines(config: Config) -> LineReaders | None:
    """Returns the line reader's processes, not started, or None where the page model reads pages first."""
    if not reads_lines(config):
        return None
    return LineReaders(
        find_directory(config.model) / LINES, line_readers(config), config.render.worker_memory_mb << 20
    )


def _words(config: Config) -> LineReaders | None:
    """Returns the processes that find words with the shipped line reader, not started; None where none does."""
    all_ = (config, *(with_model(config, name) for name in other_models(config)))
    if all(tile_settings(one).words != "lines" for one in all_):
        return None
    folder = find_directory(SHIPPED) / LINES
    memory_bytes = config.render.worker_memory_mb << 20
    return LineReaders(folder, word_readers(config), memory_bytes, stage="words", niceness=_NICENESS)

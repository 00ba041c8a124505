"""Opens the models that a run reads with: the configured one, its line reader, and those of retry steps."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ocr.model_files.locate import LINES, find_directory
from pipeline.config.schema import Config, other_models, reads_lines, with_model
from pipeline.device.line_readers import LineReaders
from pipeline.device.processes.replicas import Replicas
from pipeline.device.service import ModelService
from pipeline.device.startup.loading import line_readers, load_model, num_replicas
from pipeline.device.threads.threaded_model import Model
from pipeline.device.tickets import LoadedOn

if TYPE_CHECKING:
    from ocr.families.page_model import PageModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """first: reads pages, or reads again what the line reader leaves. lines: reads pages line by line first, or None.

    others: the models that retry steps name.
    """

    first: ModelService
    lines: LineReaders | None
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
        lines = _lines(config)
        if lines is not None:
            closing.callback(lines.close)
        yield Models(first=first, lines=lines, others=others)


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

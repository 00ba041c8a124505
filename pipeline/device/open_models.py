"""Opens the models that a run reads with: the configured one, its line reader, and those of retry steps."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ocr.model_files.locate import LINES, SHIPPED, find_directory
from pipeline.config.encoder_section import line_settings
from pipeline.config.schema import Config, other_models, reads_lines, tile_settings, with_model
from pipeline.device.line_device import LineDevice
from pipeline.device.line_readers import LineReaders
from pipeline.device.startup.loading import line_gpus, line_readers, load_model, word_readers
from pipeline.device.threads.page_reader import PageReader

if TYPE_CHECKING:
    from ocr.families.page_model import PageModel

# Of the processes that find words: the model goes first, above all what feeds a GPU.
_NICENESS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """first: reads pages, or reads again what the line reader leaves. lines: reads pages line by line first, or None.

    words: finds words that a model says no places of, None where none does. others: the models that retry steps name.
    """

    first: PageReader
    lines: LineReaders | None = None
    words: LineReaders | None = None
    others: Mapping[str, PageReader] = field(default_factory=dict)

    @property
    def all(self) -> list[PageReader]:
        """The page models, the configured one first."""
        return [self.first, *self.others.values()]

    @property
    def line_readers(self) -> list[LineReaders]:
        """What reads lines or finds words."""
        return [readers for readers in (self.lines, self.words) if readers is not None]

    def expect(self) -> None:
        """Begins with what loading takes long, where something will be read."""
        if self.lines is None:
            self.first.prepare()
        else:
            self.lines.start()


@contextlib.contextmanager
def opened(config: Config, load: "Callable[[Config], PageModel] | None" = None) -> Iterator[Models]:
    """Yields the models, none of them loaded yet, and closes them. load: loads another than the configured one."""
    with contextlib.ExitStack() as closing:
        first = closing.enter_context(contextlib.closing(PageReader(config, load or load_model)))
        others = {
            name: closing.enter_context(contextlib.closing(PageReader(with_model(config, name), load_model)))
            for name in other_models(config)
        }
        models = Models(first=first, lines=_lines(config), words=_words(config), others=others)
        for readers in models.line_readers:
            closing.callback(readers.close)
        yield models


def _lines(config: Config) -> LineReaders | None:
    """Returns the line reader's processes, not started, or None where the page model reads pages first.

    Raises: ConfigError for a GPU where there is no driver for one.
    """
    if not reads_lines(config):
        return None
    folder, memory_bytes = find_directory(config.model) / LINES, config.render.worker_memory_mb << 20
    settings = line_settings(config.encoder)
    devices = [
        LineDevice(folder, "auto" if number else config.device, settings, visible)  # one is enough to go on
        for number, visible in enumerate(line_gpus(config))
    ]
    return LineReaders(folder, line_readers(config), memory_bytes, devices=devices)


def _words(config: Config) -> LineReaders | None:
    """Returns the processes that find words with the shipped line reader, not started; None where none does."""
    all_ = (config, *(with_model(config, name) for name in other_models(config)))
    if all(tile_settings(one).words != "lines" for one in all_):
        return None
    folder = find_directory(SHIPPED) / LINES
    memory_bytes = config.render.worker_memory_mb << 20
    return LineReaders(folder, word_readers(config), memory_bytes, stage="words", niceness=_NICENESS)

"""Which of the retry steps' models read beside the first one, and which pages wait for those that read after it."""

import logging
from collections.abc import Callable, Mapping, Sequence

from pipeline.config.schema import Config, with_model
from pipeline.device.room import fits_beside
from pipeline.rereading.attempts import PutOff

LOGGER = logging.getLogger("ocrbatch")


class DeferredModels:
    """Decides, when a page first needs a model, whether that is loaded beside the others. For one event loop.

    models: by name, in the order of their steps. device: returns where the first model is.
    """

    def __init__(
        self,
        config: Config,
        models: Sequence[str],
        device: Callable[[], str | None],
    ) -> None:
        self._config, self._device = config, device
        self._waits: dict[str, bool] = {}
        self._pages: Mapping[str, list[PutOff]] = {name: [] for name in models}

    def waits(self, name: str) -> bool:
        """Returns whether pages have to wait for a model."""
        if name not in self._waits:
            self._waits[name] = self._is_later(name)
        return self._waits[name]

    def put_off(self, page: PutOff) -> None:
        """Notes a page that waits for its model."""
        self._pages[page.model].append(page)

    def begin(self, name: str) -> list[PutOff]:
        """Returns the pages that wait for a model, which from now on none does."""
        pages = list(self._pages[name])
        self._pages[name].clear()
        if pages:
            self._waits[name] = False
            LOGGER.info("%d pages that stayed in doubt are read with %s", len(pages), name)
        return pages

    def _is_later(self, name: str) -> bool:
        ladder = self._config.ladder
        if ladder.memory != "auto" or not ladder.may_be_in_turn:
            return ladder.memory == "in_turn"
        if fits_beside(with_model(self._config, name), self._device()):
            return False
        LOGGER.warning(
            "there is no room for model %s beside the first one: it reads what stays in doubt after that has read "
            "everything (ladder.memory)",
            name,
        )
        return True

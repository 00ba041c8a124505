"""The vision encoder of a run: pages go through the graph manager, which counts them and ends with the run."""

import contextlib
import logging
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import torch

from encoders.deepseek.deep_encoder import DeepEncoder
from encoders.deepseek.graph_paths import TILE_PX, PagesEncoder, deepseek_paths
from encoders.graphs.errors import GraphSettingsError
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.settings import GraphSettings
from encoders.graphs.stats import PathStats
from encoders.types import EncodedViews, VisionTokens
from encoders.views import PageViews
from ocr.imaging.tiling import MODES
from pipeline.config.encoder_section import config_error, graph_settings
from pipeline.config.schema import Config
from pipeline.errors import PipelineError

LOGGER = logging.getLogger("ocrbatch")
# Batches of a size after which a graph is captured for it. That and timing it take 0.2 to 0.5 s, about what they took.
CAPTURE_AFTER = 16
# A GPU computes any batch of an encoder of no more bytes faster than the host launches it: all are worth a graph.
_SMALL_BYTES = 256 << 20


class PathsEncoder:
    """What pipeline.stages.encode needs: a model's encoder whose views go through a graph manager's paths."""

    def __init__(self, encoder: DeepEncoder, pages: PagesEncoder) -> None:
        self._encoder, self._pages = encoder, pages
        plan_nothing(self._device)

    def encode_global(self, pages: Sequence[PageViews]) -> tuple[list[EncodedViews], list[list[str]]]:
        """Returns each page's global view, and "hit", "miss" or "eager" for it."""
        return self._pages.encode_global(pages)

    def encode_local(self, pages: Sequence[PageViews]) -> tuple[list[EncodedViews], list[list[str]]]:
        """Returns each page's tiles, and "hit", "miss" or "eager" for each of them."""
        return self._pages.encode_local(pages)

    def assemble(
        self,
        pages: Sequence[PageViews],
        global_views: Sequence[EncodedViews],
        local_views: Sequence[EncodedViews],
    ) -> list[VisionTokens]:
        """Returns each page's tokens in prompt order, in the encoder's dtype; cells_HW lies in host memory.

        Where there are cells, the current stream is waited for.
        """
        assembled = self._encoder.assemble_pages(pages, global_views, local_views)
        self.synchronize()
        return with_cells_on_host(assembled)

    def synchronize(self) -> None:
        """Waits for the current stream, so that a time is the work's and not its launch's."""
        if self._device.type == "cuda":
            torch.cuda.current_stream(self._device).synchronize()

    @property
    def _device(self) -> torch.device:
        return self._encoder.image_newline.device


class RunEncoder(PathsEncoder):
    """Encodes pages, through graphs where there are any that win; on a CPU eagerly, with the same statistics.

    A run starts without graphs. Those of sizes that the user lists are captured by warm_up(), others when enough
    small batches have come that a graph could run faster: a run of full batches never waits for any. A failure of the
    graphs themselves costs the graphs and not the run. For one thread at a time; on a GPU its work is the current
    stream's, and nothing waits for other streams. Raises: ConfigError for budgets that do not fit the mode.
    """

    def __init__(self, encoder: DeepEncoder, config: Config) -> None:
        spec = MODES[config.tile.mode]
        self._encoder = encoder
        if self._device.type == "cuda":
            encoder.store_channels_last()
        plan_nothing(self._device)
        self._axes = {"global": [spec.base_px]} | ({"local": [TILE_PX]} if spec.crop else {})
        self._paths = deepseek_paths(encoder, spec.base_px)
        self._settings = replace(
            graph_settings(config.encoder, config.tile.mode), capture_after=CAPTURE_AFTER
        )
        if sum(weight.nbytes for weight in encoder.parameters()) <= _SMALL_BYTES:
            self._settings = replace(self._settings, due_tokens=sys.maxsize)
        if isinstance(self._settings.budgets, dict) and "local" in self._settings.budgets and not spec.crop:
            LOGGER.warning(
                "encoder.budgets.local has no effect: tile.mode %s makes no tiles", config.tile.mode
            )
        self._earlier: dict[str, PathStats] = {}
        self._start(self._settings)

    def synchronize(self) -> None:
        """Waits for the current stream, asleep: any other wait keeps a CPU busy, which the workers lack.

        It wakes up a little later, which batches do not notice.
        """
        if self._device.type == "cuda":
            done = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
            done.record(torch.cuda.current_stream(self._device))
            done.synchronize()

    @property
    def capture_s(self) -> float:
        """Seconds that capturing and timing the graphs took so far."""
        return sum(stats.capture_seconds for stats in self.stats().values())

    def warm_up(self) -> None:
        """Captures the graphs that the user lists, of those for views that the run's mode makes.

        Raises: ConfigError for a budget that encoder.memory_limit can never hold.
        """
        listed = self._settings.budgets if isinstance(self._settings.budgets, Mapping) else {}
        try:
            self._manager.warm_up({path: axes for path, axes in self._axes.items() if path in listed})
        except GraphSettingsError as error:
            raise config_error(error) from error
        except PipelineError:  # ends the run whatever the graphs are
            raise
        except Exception as error:
            self._go_on_eagerly(error)

    def begin_batch(self) -> None:
        """To be called before each batch: captures graphs for sizes that have come often enough."""
        start = time.perf_counter()
        try:
            captured = self._manager.capture_due()
        except PipelineError:
            raise
        except Exception as error:
            self._go_on_eagerly(error)
        else:
            if captured:
                LOGGER.info("encoder graphs captured in %.1f s", time.perf_counter() - start)

    def stats(self) -> dict[str, PathStats]:
        """Returns the statistics of each path, of all managers of this run; also after close().

        Of a manager that failed counts are kept, and no budgets or bytes: they are freed.
        """
        now = self._manager.stats()
        return {
            name: replace(self._earlier[name], budgets={}, graph_bytes=0).merge(stats)
            if name in self._earlier
            else stats
            for name, stats in now.items()
        }

    def release(self) -> bool:
        """Frees all graphs and goes on without: for a language model that runs out of memory. False without any."""
        held = sum(stats.graph_bytes for stats in self.stats().values())
        if held:
            LOGGER.warning(
                "memory does not suffice: the encoder's graphs, %.1f GiB, are freed; it goes on without, only slower; "
                "encoder.memory_limit bounds them",
                held / 2**30,
            )
            self._do_without()
        return held > 0

    def close(self) -> None:
        """Frees all graphs. Closing twice is harmless, and so is a device that is lost already."""
        with _harmless("the encoder's graphs could not be freed"):
            self._manager.close()

    def _start(self, settings: GraphSettings) -> None:
        self._manager = EncoderGraphManager(self._paths, settings, self._device)
        self._pages = PagesEncoder(self._encoder, self._paths, self._manager)

    def _go_on_eagerly(self, error: Exception) -> None:
        LOGGER.warning(
            "the encoder's graphs could not be captured: %s; going on without them, only slower; "
            "encoder.graphs: off does so from the start",
            " ".join(str(error).split())[:300],
        )
        self._do_without()

    def _do_without(self) -> None:
        self.close()
        self._earlier = self.stats()
        self._start(replace(self._settings, graphs="off"))


def plan_nothing(device: torch.device) -> None:
    """Has attention on a GPU run without cuDNN, for the whole process.

    cuDNN's makes a plan for every number of views in a batch, of which there are 32 on each path and layer's shape: a
    small model's encoder spent a third of a run on that.
    """
    if device.type == "cuda":
        torch.backends.cuda.enable_cudnn_sdp(False)


def with_cells_on_host(pages: Sequence[VisionTokens]) -> list[VisionTokens]:
    """The same pages, the cells of all copied from their device at once."""
    cells = [
        page.cells_HW for page in pages if page.cells_HW is not None and page.cells_HW.device.type != "cpu"
    ]
    if not cells:
        return list(pages)
    hosted = torch.cat([its.flatten() for its in cells]).cpu()
    parts = iter(torch.split(hosted, [its.numel() for its in cells]))
    return [
        page
        if page.cells_HW is None or page.cells_HW.device.type == "cpu"
        else replace(page, cells_HW=next(parts).view(page.cells_HW.shape))
        for page in pages
    ]


@contextlib.contextmanager
def _harmless(what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        LOGGER.debug(what, exc_info=error)

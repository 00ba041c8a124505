"""Graph managers for a run, which keep counts and end with it; the vision encoder, whose views go through one."""

import contextlib
import logging
import sys
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

import torch

from encoders.graphs.errors import GraphSettingsError
from encoders.graphs.path import EncodedUnit, GraphPath, Unit
from encoders.graphs.ranks import Rank, RankedManager, UnitEncoder
from encoders.graphs.settings import GraphSettings
from encoders.graphs.stats import PathStats
from encoders.types import VisionTokens
from encoders.views import PageViews
from encoders.vision_encoder import PageEncoder, PageOutputs
from pipeline.config.encoder_section import config_error
from pipeline.errors import PipelineError

LOGGER = logging.getLogger("ocrbatch")
# Batches of one size after which a graph is captured for it. Capturing and timing it takes 0.2 to 0.5 s, about as
# long as those batches took.
CAPTURE_AFTER = 16
# Of an encoder of at most this size, a GPU computes any batch faster than the host launches it: all are worth a graph.
_SMALL_BYTES = 256 << 20
# Batches from one line of statistics in the log to the next.
_TELL_EVERY = 100


class PathsEncoder:
    """Implements pipeline.stages.encode.Encoder: a model's encoder whose views go through a graph manager's paths.

    prepares, prepared: the encoder's; encode_path() and assemble() take pages that are prepared.
    """

    def __init__(self, encoder: PageEncoder, manager: UnitEncoder) -> None:
        self._encoder, self._units = encoder, manager
        self.prepares, self.prepared = encoder.prepares, encoder.prepared
        disable_cudnn_attention(encoder.device)

    @property
    def path_names(self) -> tuple[str, ...]:
        """The encoder's paths, in the order in which they run."""
        return self._encoder.path_names

    def encode_path(
        self, path: str, pages: Sequence[PageViews]
    ) -> tuple[PageOutputs, Sequence[Sequence[str]]]:
        """Returns the outputs of each page's units on a path, and "hit", "miss" or "eager" for each of them."""
        return self._encoder.encode(self._units, path, pages)

    def assemble(self, pages: Sequence[PageViews], outputs: Mapping[str, PageOutputs]) -> list[VisionTokens]:
        """Returns each page's tokens in prompt order, in the encoder's dtype."""
        assembled = self._encoder.assemble(pages, outputs)
        self.synchronize()
        return assembled

    def synchronize(self) -> None:
        """Waits for the current stream, so that measured times are of the work and not of its launch."""
        if self._encoder.device.type == "cuda":
            torch.cuda.current_stream(self._encoder.device).synchronize()


class RunGraphs:
    """A graph manager as a run uses it, with statistics that outlast it; on a CPU everything runs eagerly.

    A run starts without graphs. warm_up() captures those of the sizes that the user lists, or all if graphs are "on";
    others are captured once enough small batches have come that a graph could run faster: a run of full batches never
    waits for any. If the graphs themselves fail, the run goes on without them. For one thread at a time; on a GPU its
    work runs on the current stream and waits for no other stream. num_bytes: of the weights. usual_axes: those that
    units mostly have, by path, for warm_up(). others: further devices that units are shared out over. Raises:
    GraphSettingsError for budgets that do not fit the paths.
    """

    def __init__(
        self,
        paths: Sequence[GraphPath],
        settings: GraphSettings,
        device: torch.device,
        num_bytes: int,
        usual_axes: Mapping[str, Sequence[Hashable]],
        others: Sequence[Rank] = (),
    ) -> None:
        self._usual_axes, self.num_ranks = usual_axes, 1 + len(others)
        # A batch that one interpreter launches on every device costs as many times what a graph would save.
        after = settings.capture_after or max(1, CAPTURE_AFTER // self.num_ranks)
        self._settings = replace(settings, capture_after=after)
        if num_bytes <= _SMALL_BYTES:
            self._settings = replace(self._settings, due_tokens=sys.maxsize)
        self._num_batches = 0
        self._manager = RankedManager(paths, self._settings, device, others)
        disable_cudnn_attention(device)

    def run(self, units: Mapping[str, Sequence[Unit]]) -> dict[str, list[EncodedUnit]]:
        """Returns each path's outputs, in the order of its units; see EncoderGraphManager.encode."""
        return self._manager.encode(units)

    @property
    def capture_s(self) -> float:
        """The seconds that capturing and timing the graphs took so far."""
        return sum(stats.capture_seconds for stats in self.stats().values())

    def warm_up(self) -> None:
        """Captures the graphs that the user lists, or all of them, as far as the run's pages have units for them.

        Raises: ConfigError for a budget that encoder.memory_limit can never hold.
        """
        listed = self._settings.budgets if isinstance(self._settings.budgets, Mapping) else {}
        try:
            self._manager.warm_up(
                {
                    path: axes
                    for path, axes in self._usual_axes.items()
                    if path in listed or self._settings.graphs == "on"
                }
            )
        except GraphSettingsError as error:
            raise config_error(error) from error
        except PipelineError:  # ends the run whatever the graphs are
            raise
        except Exception as error:
            self._go_on_eagerly(error)

    def begin_batch(self) -> None:
        """Captures graphs for sizes that have come often enough. Call it before each batch.

        Logs the statistics now and then.
        """
        if self._num_batches and self._num_batches % _TELL_EVERY == 0:
            counts = "; ".join(f"{name} {stats}" for name, stats in self.stats().items() if stats.units)
            LOGGER.info("encoder after %d batches: %s", self._num_batches, counts)
        self._num_batches += 1
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
        """Returns the statistics of each path, added up over all devices; also after close()."""
        return self._manager.stats()

    def release(self) -> bool:
        """Frees all graphs for a language model that runs out of memory; returns whether there were any."""
        held = sum(stats.graph_bytes for stats in self.stats().values())
        if held:
            LOGGER.warning(
                "not enough memory: the encoder's graphs, %.1f GiB, are freed; it goes on without, only slower; "
                "encoder.memory_limit bounds them",
                held / 2**30,
            )
            self._do_without()
        return held > 0

    def close(self) -> None:
        """Frees all graphs. Closing twice is harmless, and so is a device that is lost already."""
        with _harmless("the encoder's graphs could not be freed"):
            self._manager.close()

    def _go_on_eagerly(self, error: Exception) -> None:
        LOGGER.warning(
            "the encoder's graphs could not be captured: %s; going on without them, only slower; "
            "encoder.graphs: off does so from the start",
            " ".join(str(error).split())[:300],
        )
        self._do_without()

    def _do_without(self) -> None:
        with _harmless("the encoder's graphs could not be freed"):
            self._manager.go_eager()


class RunEncoder(RunGraphs, PathsEncoder):
    """Encodes pages, through graphs where these are faster; see RunGraphs."""

    def __init__(self, encoder: PageEncoder, settings: GraphSettings, others: Sequence[Rank] = ()) -> None:
        super().__init__(
            encoder.paths, settings, encoder.device, encoder.num_bytes, encoder.usual_axes, others
        )
        PathsEncoder.__init__(self, encoder, self._manager)
        # Of an encoder without paths, which no manager runs.
        self._others = {} if encoder.paths else {name: PathStats() for name in encoder.path_names}

    def stats(self) -> dict[str, PathStats]:
        """Returns the statistics of each path; see RunGraphs.stats."""
        return super().stats() | self._others

    def synchronize(self) -> None:
        """Waits for the current stream while sleeping: any other wait would keep a CPU busy that the workers need.

        Waking up takes a little longer, which makes no difference for a batch.
        """
        if self._encoder.device.type == "cuda":
            done = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
            done.record(torch.cuda.current_stream(self._encoder.device))
            done.synchronize()

    def encode_path(
        self, path: str, pages: Sequence[PageViews]
    ) -> tuple[PageOutputs, Sequence[Sequence[str]]]:
        """Returns the outputs of each page's units on a path, and "hit", "miss" or "eager" for each of them."""
        outputs, uses = super().encode_path(path, pages)
        if path in self._others:
            self._others[path].eager += sum(map(len, uses))
        return outputs, uses


def disable_cudnn_attention(device: torch.device) -> None:
    """Switches off cuDNN's attention for the whole process if the device is a GPU.

    cuDNN makes a plan for every number of views in a batch, of which there are 32 on each path and layer shape: a
    small model's encoder spent a third of a run on planning.
    """
    if device.type == "cuda":
        torch.backends.cuda.enable_cudnn_sdp(False)


@contextlib.contextmanager
def _harmless(what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        LOGGER.debug(what, exc_info=error)

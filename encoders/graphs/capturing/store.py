"""The captured graphs of one path and axis: captures them, replaces stale ones, frees them."""

import logging
import time
from collections.abc import Hashable

import torch

from encoders.graphs.capturing.buffers import META, StaticBuffers
from encoders.graphs.capturing.capture import Capture, Graph
from encoders.graphs.errors import GraphStaleError
from encoders.graphs.path import GraphPath
from encoders.graphs.stats import PathStats

logger = logging.getLogger(__name__)

# A graph whose memory keeps moving costs more in captures than it saves.
MAX_RECAPTURES = 3


class GraphStore:
    """The graphs of a path and axis. graphs: by their tokens. buffers: None as long as nothing is captured."""

    def __init__(
        self, path: GraphPath, axis: Hashable, device: torch.device, capture: Capture, stats: PathStats
    ) -> None:
        self.graphs: dict[int, Graph] = {}
        self.buffers: StaticBuffers | None = None
        self.path, self.axis, self.device = path, axis, device
        self.capture, self.stats = capture, stats
        self._grown = 0

    @property
    def num_bytes(self) -> int:
        """Returns the bytes of the buffers and of what the graphs added to the memory they all share.

        0 without graphs.
        """
        return self._grown + self.buffer_bytes

    @property
    def buffer_bytes(self) -> int:
        return 0 if self.buffers is None else self.buffers.num_bytes

    def input_bytes(self, size: int) -> int:
        """Returns the bytes of the input buffers of a graph of this size."""
        return sum(like.nbytes for like in self.path.buffers(self.axis, size, META).values())

    def add(self, size: int, room: int | None) -> bool:
        """Captures one size, largest first; returns False if it is left out: it failed, or adds more than `room` bytes.

        A size that adds nothing always has room: smaller ones use the memory of larger ones.
        """
        held = self._held()
        if self.buffers is None and room is not None and self.input_bytes(size) > room:
            self._leave_out(size, f"its buffers need more than the {room} bytes left")
            return False
        try:
            self.graphs[size] = self._captured(size)
        except (
            Exception
        ) as error:  # an operation that cannot be captured, no memory, a kernel that does not run
            self._leave_out(size, " ".join(str(error).split())[:300] or type(error).__name__)
        else:
            if room is not None and self._held() - held > max(room, 0):
                self.drop(size)
                self._leave_out(size, f"it takes more than the {room} bytes left")
        if not self.graphs:
            self.buffers = None
        if size not in self.graphs:  # only here: an exception keeps what the capture held
            self.capture.free_unused()
        return size in self.graphs

    def sound(self, graph: Graph) -> Graph | None:
        """Returns the graph, a fresh one if memory it was captured with has moved, or None if that fails."""
        assert self.buffers is not None, "a graph without buffers"
        try:
            graph.check(self.buffers, self.path.watched(self.axis))
        except GraphStaleError as stale:
            self.stats.stale_graphs += 1
            logger.warning("%s: %s", self.label(graph.tokens), stale)
            return self._replace(graph)
        return graph

    def drop(self, size: int) -> None:
        """Frees one graph."""
        self.graphs.pop(size).release()
        if not self.graphs:
            self._grown = 0

    def close(self) -> None:
        """Frees all graphs and buffers."""
        for size in list(self.graphs):
            self.drop(size)
        self.buffers = None

    def label(self, size: int) -> str:
        """Returns the graph's name in messages."""
        return f"encoder graph of {size} tokens, path {self.path.name}, axis {self.axis}"

    def _held(self) -> int:
        return self.capture.pool_bytes + self.buffer_bytes

    def _captured(self, size: int) -> Graph:
        if self.buffers is None:
            self.buffers = StaticBuffers(self.path, self.axis, size, self.device)
        before = self.capture.pool_bytes
        graph = self.capture.capture(self.path, self.axis, size, self.buffers)
        self._grown += self.capture.pool_bytes - before
        return graph

    def _replace(self, stale: Graph) -> Graph | None:
        self.drop(stale.tokens)
        if stale.recaptures < MAX_RECAPTURES:
            start = time.perf_counter()
            try:
                fresh = self._captured(stale.tokens)
            except Exception as error:
                logger.warning("%s cannot be captured again: %s", self.label(stale.tokens), error)
            else:
                self.stats.capture_seconds += time.perf_counter() - start
                fresh.recaptures = stale.recaptures + 1
                self.graphs[fresh.tokens] = fresh
                self.stats.recaptures += 1
                return fresh
        self.stats.dropped_graphs += 1
        return None

    def _leave_out(self, size: int, reason: str) -> None:
        logger.warning("%s is not captured: %s", self.label(size), reason)
        self.stats.left_out.setdefault(str(self.axis), []).append(size)

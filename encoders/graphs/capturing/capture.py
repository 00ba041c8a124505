"""Captures a forward at a fixed size, and replays it: CUDA graphs, or the same steps run eagerly."""

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from statistics import median

import torch
from torch import Tensor

from encoders.graphs.capturing.buffers import StaticBuffers
from encoders.graphs.capturing.gate import capturing, working
from encoders.graphs.capturing.pools import SharedPool
from encoders.graphs.errors import GraphStaleError
from encoders.graphs.path import GraphPath, Tensors

Stamp = tuple[int, int, torch.Size, torch.dtype, torch.device]
Stamps = tuple[list[int], list[int]]
Run = Callable[[], object]

_VERSION_OF = attrgetter("_version")


@dataclass(slots=True, eq=False)
class Graph:
    """A forward captured for `tokens` tokens.

    inputs, outputs: prefixes of the static buffers. watched, kept: tensors captured with them, kept alive.
    buffer_stamps, watched_stamps: their addresses and versions at capture. recaptures: how often it replaced a stale
    one.
    """

    tokens: int
    inputs: Tensors
    outputs: Tensors
    watched: list[Tensor]
    kept: list[Tensor]
    buffer_stamps: list[Stamp]
    watched_stamps: Stamps
    launch: Callable[[], None]
    release: Callable[[], None]
    recaptures: int = 0

    def check(self, buffers: StaticBuffers, watched: Sequence[Tensor]) -> None:
        """Raises GraphStaleError if a buffer or a watched tensor has moved or changed since capture.

        A weight changed in place counts too: tables made from it may have been captured.
        """
        if _buffer_stamps(buffers, self.inputs, self.outputs) != self.buffer_stamps:
            raise GraphStaleError(
                f"a buffer of the graph of {self.tokens} tokens has moved: capture it again"
            )
        if _watched_stamps(watched) != self.watched_stamps:
            raise GraphStaleError(
                f"weights of the graph of {self.tokens} tokens have moved or changed: capture it again"
            )


class Capture:
    """Replays forwards launch by launch, on the padded static buffers, with the rules of graphs on any device.

    ranks: as GraphSettings has it.
    """

    ranks = 1

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._clock: Callable[[], float] = time.perf_counter

    @property
    def pool_bytes(self) -> int:
        """Returns the bytes of all graphs besides their static buffers, as long as one of them is left."""
        return 0

    def free_unused(self) -> None:
        """Frees memory that no graph and no tensor holds any more."""

    def capture(self, path: GraphPath, axis: object, tokens: int, buffers: StaticBuffers) -> Graph:
        """Returns the path's forward captured at this size. The first one into a set of buffers must be the largest.

        No other thread works on the device meanwhile (encoders.graphs.capturing.gate).
        """
        inputs = buffers.prefix(tokens)
        with capturing(), torch.inference_mode():
            outputs = buffers.own(self._warm_up(lambda: path.forward(inputs)))
            watched, kept = list(path.watched(axis)), list(path.kept(axis))

            def run() -> None:
                for name, value in path.forward(inputs).items():
                    outputs[name].copy_(value)

            launch, release = self._record(run)
        return Graph(
            tokens=tokens,
            inputs=inputs,
            outputs=outputs,
            watched=watched,
            kept=kept,
            buffer_stamps=_buffer_stamps(buffers, inputs, outputs),
            watched_stamps=_watched_stamps(watched),
            launch=launch,
            release=release,
        )

    def replay(self, graph: Graph) -> None:
        """Runs the graph on the contents of its inputs; overwrites its outputs."""
        graph.launch()

    def measure(self, run: Run, repeats: int) -> float:
        """Returns the median seconds of several runs, idle stream to idle stream, after one that does not count."""
        (seconds,) = self.measure_in_turn([run], repeats)
        return seconds

    def measure_in_turn(self, runs: Sequence[Run], repeats: int) -> list[float]:
        """Returns the median seconds of several runs to be compared: one of each in every round.

        Other work of the device and the host meanwhile slows all of them down alike. Where one interpreter launches
        for several devices, a run takes at least as long as launching it on all of them.
        """
        for run in runs:
            run()
        self.synchronize()
        seconds: list[list[float]] = [[] for _ in runs]
        for _ in range(repeats):
            for run, its_seconds in zip(runs, seconds, strict=True):
                start = self._clock()
                run()
                launched = self._clock() - start
                self.synchronize()
                its_seconds.append(max(self.ranks * launched, self._clock() - start))
        return list(map(median, seconds))

    def synchronize(self) -> None:
        """Waits for the current stream, if there is one; not for work that other threads gave the device."""
        if self.device.type == "cuda":
            torch.cuda.current_stream(self.device).synchronize()

    def _warm_up(self, forward: Callable[[], Tensors]) -> Tensors:
        return forward()

    def _record(self, run: Callable[[], None]) -> tuple[Callable[[], None], Callable[[], None]]:
        """Records the run; returns functions that replay it and free it."""
        return run, lambda: None


class CudaGraphCapture(Capture):
    """Captures CUDA graphs into one memory pool. They share it, so they must be replayed on one stream at a time.

    A graph uses what earlier captures left free. PyTorch frees the pool only when no graph is left, and the next graph
    then starts another one. Work that other threads gave the device before may still run: only this thread's calls must
    obey the rules of capture, and only its stream is waited for. torch.cuda.graph is not used because it waits for the
    whole device.
    Source: pytorch.org/docs/stable/notes/cuda.html#cuda-graphs.
    """

    def __init__(self, device: torch.device) -> None:
        super().__init__(device)
        self._pool = SharedPool()
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._replayed_on: torch.cuda.Stream | None = None

    def replay(self, graph: Graph) -> None:
        self._replayed_on = torch.cuda.current_stream(self.device)
        super().replay(graph)

    @property
    def pool_bytes(self) -> int:
        """Returns the bytes that the device's allocator has reserved for the graphs, by failed captures as well."""
        segments = torch.cuda.memory_snapshot()  # type: ignore[no-untyped-call]
        own = (segment for segment in segments if segment["segment_pool_id"] in self._pool.handles)
        return sum(int(segment["total_size"]) for segment in own)

    def free_unused(self) -> None:
        with working():
            torch.cuda.empty_cache()

    def _warm_up(self, forward: Callable[[], Tensors]) -> Tensors:
        current = torch.cuda.current_stream(self.device)
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            outputs = forward()
        current.wait_stream(self._stream)
        self.synchronize()
        return outputs

    def _record(self, run: Callable[[], None]) -> tuple[Callable[[], None], Callable[[], None]]:
        graph, pool = torch.cuda.CUDAGraph(), self._pool.handle()
        torch.cuda.empty_cache()  # memory free for a stream may be what the graphs' pool lacks
        with torch.cuda.device(self.device), torch.cuda.stream(self._stream):
            try:
                graph.capture_begin(pool=pool, capture_error_mode="thread_local")
                try:
                    run()
                except BaseException:
                    with contextlib.suppress(RuntimeError):  # the first error explains it
                        graph.capture_end()
                    raise
                graph.capture_end()
            except BaseException:
                self._pool.failed(pool, graph, self._stream.device_index)
                raise
        self._pool.captured(pool)

        def release() -> None:
            if self._replayed_on is not None:  # may be another thread's stream
                self._replayed_on.synchronize()
            with working():
                graph.reset()
                self._pool.released(pool)
                torch.cuda.empty_cache()

        return graph.replay, release


def _buffer_stamps(buffers: StaticBuffers, inputs: Tensors, outputs: Tensors) -> list[Stamp]:
    """Returns the stamps of the whole buffers, and of the graph's prefixes of them."""
    pairs = [(buffers.inputs[name], view) for name, view in inputs.items()]
    pairs += [(buffers.outputs[name], view) for name, view in outputs.items()]
    return [
        (whole.data_ptr(), view.data_ptr(), view.shape, whole.dtype, whole.device) for whole, view in pairs
    ]


def _watched_stamps(watched: Sequence[Tensor]) -> Stamps:
    """Returns addresses and versions. There are hundreds, checked before every replay, so no loop in Python."""
    try:
        versions = list(map(_VERSION_OF, watched))
    except RuntimeError:  # inference tensors have no version
        versions = [0 if tensor.is_inference() else tensor._version for tensor in watched]
    return list(map(Tensor.data_ptr, watched)), versions

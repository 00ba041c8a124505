"""Small model families behind the graph protocol, and a clock that tells how long they take."""

from collections.abc import Callable, Hashable, Sequence

import torch
from torch import Tensor, nn

from encoders.graphs.path import GraphPath, Tensors, UniformPath, Unit, Watch
from tests.encoders.graphs.eager_capture import EagerCapture, poisoned

CPU = torch.device("cpu")


class Clock:
    """Time passes only when a forward runs: a launch cost, of which a replay saves nine tenths, and one a token."""

    def __init__(self, launch: float = 10.0, per_token: float = 0.01) -> None:
        self.now = 0.0
        self.launch = launch
        self.per_token = per_token
        self.replaying = False
        self.forwards = 0

    def __call__(self) -> float:
        return self.now

    def run(self, tokens: int) -> None:
        self.forwards += 1
        self.now += self.per_token * tokens + self.launch * (0.1 if self.replaying else 1)


class ToyCapture(EagerCapture):
    """An eager capture whose replays save the launch cost on the toys' clock."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(CPU)
        poisoned(self)
        self._clock = self._toy_clock = clock

    def _record(self, run: Callable[[], None]) -> tuple[Callable[[], None], Callable[[], None]]:
        def replay() -> None:
            self._toy_clock.replaying = True
            run()
            self._toy_clock.replaying = False

        return replay, lambda: None


def linear(rows: int, columns: int, seed: int = 0) -> nn.Linear:
    layer = nn.Linear(columns, rows, bias=False)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        layer.weight.copy_(torch.randn(rows, columns, generator=generator))
    return layer.requires_grad_(False)


class ToyPath(GraphPath):
    """clock: where forwards tell how long they take."""

    clock: Clock


class ViewPath(ToyPath, UniformPath):
    """Square uint8 views, as DeepSeek-OCR's: axis is their side, one token a 2 x 2 patch."""

    least_tokens = 16

    def __init__(self, name: str = "global", clock: Clock | None = None) -> None:
        self.name = name
        self.clock = clock or Clock()
        self.layer = linear(5, 4)
        self.watched_now = Watch(self.layer)

    def unit_tokens(self, axis: Hashable) -> int:
        assert isinstance(axis, int)
        return (axis // 2) ** 2

    def buffers(self, axis: Hashable, budget: int, device: torch.device) -> Tensors:
        assert isinstance(axis, int)
        count = budget // self.unit_tokens(axis)
        return {"pixels": torch.zeros(count, axis, axis, dtype=torch.uint8, device=device)}

    def examples(self, axis: Hashable, tokens: int) -> list[Unit]:
        return [self.unit(axis, seed) for seed in range(tokens // self.unit_tokens(axis))]

    def forward(self, inputs: Tensors) -> Tensors:
        pixels = inputs["pixels"]
        B, side, _ = pixels.shape
        normal = pixels.float() / 127.5 - 1
        patches = normal.view(B, side // 2, 2, side // 2, 2).transpose(2, 3).reshape(B, -1, 4)
        self.clock.run(B * patches.shape[1])
        return {"tokens": self.layer(patches), "brightest": pixels.flatten(1).amax(1).to(torch.int16)}

    def watched(self, axis: Hashable) -> Sequence[Tensor]:
        return self.watched_now()

    def unit(self, axis: Hashable, seed: int) -> Unit:
        assert isinstance(axis, int)
        generator = torch.Generator().manual_seed(seed)
        pixels = torch.randint(0, 256, (1, axis, axis), dtype=torch.uint8, generator=generator)
        return Unit(tokens=self.unit_tokens(axis), axis=axis, inputs={"pixels": pixels})


class SlicePath(ToyPath, UniformPath):
    """Slices of different patch grids under a cap, as MiniCPM-V's resampler: axis is the cap, 4 tokens a slice."""

    name = "slices"
    least_tokens = 4

    def __init__(self) -> None:
        self.clock = Clock()
        self.query = linear(4, 3, seed=1).weight
        self.places = torch.arange(64, dtype=torch.float32)[:, None] / 64

    def unit_tokens(self, axis: Hashable) -> int:
        return 4

    def buffers(self, axis: Hashable, budget: int, device: torch.device) -> Tensors:
        assert isinstance(axis, int)
        count = budget // 4
        widths = torch.ones(count, dtype=torch.int64, device=device)
        mask = torch.zeros(count, axis, dtype=torch.bool, device=device)
        mask[:, 0] = True  # one valid key: a softmax over none is NaN
        return {"patches": torch.zeros(count, axis, 3, device=device), "widths": widths, "mask": mask}

    def pad(self, name: str, buffer: Tensor, used: int, dirty: int) -> None:
        super().pad(name, buffer, used, dirty)
        if name == "widths":
            buffer[used:dirty] = 1
        if name == "mask":
            buffer[used:dirty, 0] = True

    def examples(self, axis: Hashable, tokens: int) -> list[Unit]:
        assert isinstance(axis, int)
        return [self.unit(axis, (1, axis), seed) for seed in range(tokens // 4)]

    def forward(self, inputs: Tensors) -> Tensors:
        patches, mask = inputs["patches"], inputs["mask"]
        self.clock.run(4 * patches.shape[0])
        index = torch.arange(patches.shape[1], device=patches.device)
        widths = inputs["widths"][:, None]
        keys = patches + self.places[index // widths] - self.places[index % widths]
        scores = torch.einsum("qd,bkd->bqk", self.query, keys)
        weights = scores.masked_fill(~mask[:, None], -torch.inf).softmax(-1)
        return {"tokens": weights @ patches}

    def unit(self, cap: int, grid: tuple[int, int], seed: int) -> Unit:
        rows, columns = grid
        patches = torch.zeros(1, cap, 3)
        generator = torch.Generator().manual_seed(seed)
        patches[0, : rows * columns] = torch.randn(rows * columns, 3, generator=generator)
        mask = (torch.arange(cap) < rows * columns)[None]
        return Unit(
            tokens=4,
            axis=cap,
            inputs={"patches": patches, "widths": torch.tensor([columns]), "mask": mask},
        )


class SequencePath(ToyPath):
    """Images and videos of any length, as Qwen3-VL's: attention within each frame by cu_seqlens.

    max_frames: room in cu_seqlens. Padding rows of the output stay unwritten, as a varlen kernel leaves
    them: here they are NaN.
    """

    name = "sequences"
    least_tokens = 2

    def __init__(self, max_frames: int = 8, most: int = 64, clock: Clock | None = None) -> None:
        self.max_frames = max_frames
        self.most = most
        self.clock = clock or Clock()
        self.workspace = torch.linspace(0.5, 1.5, 16)

    def unit_tokens(self, axis: Hashable) -> int:
        return 2

    def most_tokens(self, axis: Hashable) -> int:
        return self.most

    def buffers(self, axis: Hashable, budget: int, device: torch.device) -> Tensors:
        offsets = torch.zeros(self.max_frames + 1, dtype=torch.int32, device=device)
        return {"patches": torch.zeros(budget, 3, device=device), "cu_seqlens": offsets}

    def pieces(self, units: Sequence[Unit]) -> dict[str, list[Tensor]]:
        lengths = torch.cat([unit.inputs["lengths"] for unit in units])
        ends = lengths.cumsum(0).to(torch.int32)
        return {
            "patches": [unit.inputs["patches"] for unit in units],
            "cu_seqlens": [torch.zeros(1, dtype=torch.int32), ends],
        }

    def pad(self, name: str, buffer: Tensor, used: int, dirty: int) -> None:
        if name == "cu_seqlens":
            buffer[used:] = buffer[used - 1]
        else:
            super().pad(name, buffer, used, dirty)

    def examples(self, axis: Hashable, tokens: int) -> list[Unit]:
        return [self.unit([tokens], seed=tokens)]

    def forward(self, inputs: Tensors) -> Tensors:
        patches, offsets = inputs["patches"], inputs["cu_seqlens"]
        self.clock.run(patches.shape[0])
        row = torch.arange(patches.shape[0], device=patches.device, dtype=torch.int32)
        frame = torch.searchsorted(offsets[1:], row, right=True)
        scores = patches @ patches.T * self.workspace[2]
        weights = scores.masked_fill(frame[:, None] != frame[None], -torch.inf).softmax(-1)
        written = (row < offsets[-1])[:, None]
        mixed = weights @ patches
        return {"tokens": torch.where(written, mixed, torch.full_like(mixed, torch.nan))}

    def watched(self, axis: Hashable) -> Sequence[Tensor]:
        return [self.workspace]

    def unit(self, lengths: list[int], seed: int) -> Unit:
        generator = torch.Generator().manual_seed(seed)
        return Unit(
            tokens=sum(lengths),
            axis="any",
            inputs={
                "patches": torch.randn(sum(lengths), 3, generator=generator),
                "lengths": torch.tensor(lengths),
            },
            items=len(lengths),
        )

"""The rig of the encoder's figures: the model, the arms and the pages."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from encoders.graphs.capturing.capture import Capture, CudaGraphCapture
from encoders.graphs.settings import GraphSettings
from encoders.views import PageViews
from ocr.checkpoints import checkpoint
from ocr.imaging.tiling import Mode, views
from ocr.model.deepseek_ocr import OcrModel
from pipeline.bench.encoding.encoder_arms import Arm, ManagedArm, build
from pipeline.bench.encoding.subjects import deepseek_subject, random_deepseek
from pipeline.bench.model_names import RANDOM
from tests.benchmarks.device_rig import DeviceClock
from tests.encoders.graphs.eager_capture import EagerCapture

SAMPLES = Path(__file__).parents[2] / "samples"
A4_PX = (2339, 1654)  # height and width at 200 dpi
Grid = tuple[int, int]
Shape = tuple[int, int]  # views of a batch, and their side in px


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """The amount of measuring. mode: of tiling, which decides view_px; page_grid: of an A4 page's tiles.

    max_items, repeats: of the graph manager. shapes, profiled: batches on the device alone. counts: of views.
    """

    mode: Mode = "gundam"
    view_px: int = 1024
    page_grid: Grid = (2, 3)
    max_items: int = 32
    repeats: int = 5
    shapes: tuple[Shape, ...] = (
        (32, 1024), (96, 640), (32, 640), (8, 1024), (48, 640), (1, 1024), (8, 640), (6, 640), (4, 640), (2, 640),
        (1, 640),
    )  # fmt: skip
    shape_repeats: int = 10
    parity_seeds: int = 3
    counts: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 23, 31, 32)
    count_repeats: int = 7
    profiled: tuple[Shape, ...] = ((32, 640), (8, 1024), (1, 1024))


QUICK = Effort(
    mode="tiny", view_px=512, page_grid=(2, 1), max_items=2, repeats=1,
    shapes=((2, 640), (1, 512)), shape_repeats=1, parity_seeds=1, counts=(1, 2, 3), count_repeats=1,
    profiled=((1, 512),),
)  # fmt: skip


@dataclass(kw_only=True)
class Rig:
    """The model on its device, and the arms once they are requested."""

    model: OcrModel
    device: torch.device
    effort: Effort
    _arms: dict[str, Arm] = field(default_factory=dict)

    @cached_property
    def clock(self) -> DeviceClock:
        return DeviceClock(self.device)

    def arm(self, name: str) -> Arm:
        """Returns the arm, ready to encode pages of the effort's sizes."""
        if name not in self._arms:
            settings = self.arm_settings()
            self._arms[name] = (
                self.graph_arm(settings)
                if name == "graph"
                else build(name, deepseek_subject(self.model), settings)
            )
        return self._arms[name]

    def arm_settings(self) -> GraphSettings:
        return GraphSettings(max_items=self.effort.max_items, repeats=self.effort.repeats)

    def graph_arm(self, settings: GraphSettings, capture: Capture | None = None) -> ManagedArm:
        """Returns a new graph arm, warmed up."""
        arm = ManagedArm(deepseek_subject(self.model), settings, capture or self.capture())
        arm.prepare([[self.page]])
        return arm

    def capture(self) -> Capture:
        """Returns a capture of CUDA graphs.

        Without a CUDA device one that runs eagerly, so that all code here is tried.
        """
        if self.device.type == "cuda":
            return CudaGraphCapture(self.device)
        return EagerCapture(self.device)

    def random_page(self, grid: Grid, seed: int = 0) -> PageViews:
        """Returns a page of random views, without the time that tiling takes."""
        rng = np.random.default_rng(seed)
        num_tiles = 0 if grid == (1, 1) else grid[0] * grid[1]
        side = self.effort.view_px
        return PageViews(
            global_view=rng.integers(0, 256, (3, side, side), dtype=np.uint8),
            local_views=rng.integers(0, 256, (num_tiles, 3, 640, 640), dtype=np.uint8),
            grid=grid,
        )

    @cached_property
    def page(self) -> PageViews:
        """Returns one A4 page of random pixels at 200 dpi."""
        pixels = np.random.default_rng(1).integers(0, 256, (*A4_PX, 3), dtype=np.uint8)
        return views(pixels, self.effort.mode, max_tiles=6, grid=self.effort.page_grid)

    @cached_property
    def real_pages(self) -> list[PageViews]:
        """Returns pages of two of the sample documents."""
        found = []
        for name in ("letter.png", "photo.jpg"):
            with Image.open(SAMPLES / name) as picture:
                pixels = np.asarray(picture.convert("RGB"))
            found.append(views(pixels, self.effort.mode, max_tiles=6, grid=self.effort.page_grid))
        return found

    def pixels(self, shape: Shape, seed: int = 0) -> Tensor:
        """Returns random views on the device, uint8 [B, 3, S, S]."""
        count, side = shape
        generator = torch.Generator(self.device).manual_seed(seed)
        return torch.randint(
            0, 256, (count, 3, side, side), dtype=torch.uint8, generator=generator, device=self.device
        )


def make_rig(name: str, device: torch.device, dtype: torch.dtype, effort: Effort) -> Rig:
    """Returns a rig. name: a model as `ocrbatch bench encoder` takes it, or "tiny"."""
    if name == "tiny":
        from tests.ocr.tiny import TINY, tiny_model

        sam = replace(TINY.encoder.sam, num_layers=2, num_heads=1)  # one block with windows, one without
        config = replace(TINY, encoder=replace(TINY.encoder, sam=sam))
        model = tiny_model(config).to(device, dtype)
    else:
        model = _load(name, device, dtype)
    return Rig(model=model, device=device, effort=effort)


def _load(name: str, device: torch.device, dtype: torch.dtype) -> OcrModel:
    if name == RANDOM:
        return random_deepseek(device, dtype)
    model = checkpoint.load(name, device=device, dtype=dtype).model
    if device.type == "cuda":
        model.encoder.store_channels_last()
    return model


def relative_errors(found: Sequence[Tensor], expected: Sequence[Tensor]) -> list[float]:
    """Returns the relative L2 error of each page."""
    return [
        float((mine.double() - theirs.double()).norm() / theirs.double().norm())
        for mine, theirs in zip(found, expected, strict=True)
    ]

"""How Unlimited-OCR's processor cuts a page: as DeepSeek-OCR's does, into up to 32 tiles. Torch-free.

Source: transformers, image_processing_unlimited_ocr.py; baidu/Unlimited-OCR, `infer`. Of the two, which round a pad of
half a pixel differently, it follows the latter, as the model was trained so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from encoders.views import PageViews, UInt8Array
from ocr.errors import CheckpointError
from ocr.families.view_makers import ViewMaker
from ocr.imaging.tiling import MODES, PADDING_RGB, TILE_PX, Mode, ModeSpec, views
from ocr.model_files.locate import read_json

# What its processor may say, but not otherwise than here: other views would need other code, or other weights.
_FIXED: Mapping[str, Any] = {
    "do_resize": True, "do_rescale": True, "do_normalize": True, "do_convert_rgb": True, "min_patches": 2,
    "tile_size": TILE_PX, "maximum_pad_value": TILE_PX, "background_color": list(PADDING_RGB),
    "image_mean": [0.5] * 3, "image_std": [0.5] * 3, "resample": 3, "rescale_factor": 1 / 255,
}  # fmt: skip
_SIDE_PX, _TILES = 1024, 32


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlimitedViews:
    """Makes a page's views. mode: "gundam" with tiles, another without. max_tiles: the most of a page, of tile_px."""

    mode: Mode = "gundam"
    max_tiles: int = _TILES
    tile_px: int = TILE_PX

    @property
    def side_px(self) -> int:
        """The side of a global view."""
        return MODES[self.mode].base_px

    @property
    def has_tiles(self) -> bool:
        return MODES[self.mode].crop

    @property
    def most_px(self) -> int:
        """The pixels of the views of a page with the most tiles."""
        return self.side_px**2 + (self.max_tiles * self.tile_px**2 if self.has_tiles else 0)

    def __call__(self, pixels: UInt8Array, /) -> PageViews:
        """Returns the views of a page, [H, W, 3] uint8 RGB."""
        return views(pixels, self.mode, self.max_tiles, tile_px=self.tile_px)


def without_tiles(views: ViewMaker) -> ViewMaker:
    """Returns the published views of several pages in a prompt."""
    return UnlimitedViews(mode="base") if isinstance(views, UnlimitedViews) else views


def read_views(directory: Path) -> UnlimitedViews:
    """Returns the views that a model's processor makes: the published ones, unless a file of its says otherwise.

    Raises: CheckpointError for a file that cannot be read, or that demands what is not done here.
    """
    joint, own = (
        read_json(path) if (path := directory / f"{kind}_config.json").exists() else {}
        for kind in ("processor", "preprocessor")
    )
    return views_of(own or joint.get("image_processor") or joint)


def views_of(settings: Mapping[str, Any]) -> UnlimitedViews:
    """Returns the views by a preprocessor_config.json; keys that it lacks are as published. Raises: CheckpointError."""
    for key, value in _FIXED.items():
        if (found := settings.get(key, value)) != value:
            raise CheckpointError(
                f"preprocessor_config.json: {key} is {found!r}, but for Unlimited-OCR only {value!r} is known; "
                "fetch the published file"
            )
    size = settings.get("size") or {"height": _SIDE_PX, "width": _SIDE_PX}
    wanted = ModeSpec(base_px=max(size.values()), crop=settings.get("crop_to_patches", True))
    mode = next((mode for mode, spec in MODES.items() if spec == wanted), None)
    if mode is None:
        tiles = "with" if wanted.crop else "without"
        raise CheckpointError(
            f"preprocessor_config.json: no mode has views of {wanted.base_px} px {tiles} tiles; the known ones are "
            f"{', '.join(f'{spec.base_px} px' + ' with tiles' * spec.crop for spec in MODES.values())}"
        )
    return UnlimitedViews(mode=mode, max_tiles=settings.get("max_patches", _TILES))

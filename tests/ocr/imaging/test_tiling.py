import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps

from ocr.imaging.planes import is_grey
from ocr.imaging.tiling import MODES, TILE_PX, Mode, choose_grid, grids, layout, views

SIDES = st.integers(1, 5000)
MAX_TILES = st.integers(2, 9)


def picture(width: int, height: int, seed: int = 0) -> np.ndarray:
    """[height, width, 3]: smooth random colours, so that resizing is sensitive to where pixels go."""
    coarse = np.random.default_rng(seed).integers(0, 256, (7, 5, 3), dtype=np.uint8)
    return np.array(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC))


@given(SIDES, SIDES, MAX_TILES)
@settings(max_examples=1000, deadline=None)
def test_grid_is_the_one_transformers_chooses(width, height, max_tiles):
    from transformers.models.deepseek_ocr2.image_processing_pil_deepseek_ocr2 import get_optimal_tiled_canvas

    grid = choose_grid(width, height, max_tiles)
    if width <= TILE_PX and height <= TILE_PX:
        assert grid == (1, 1)
    else:
        assert grid == get_optimal_tiled_canvas((height, width), (TILE_PX, TILE_PX), 2, max_tiles)


def test_grid_is_the_one_transformers_chooses_over_a_raster_of_sizes():
    """Round sizes too, where ties are."""
    from transformers.models.deepseek_ocr2.image_processing_pil_deepseek_ocr2 import get_optimal_tiled_canvas

    sides = [*range(40, 4000, 160), 640, 641, 896, 1024, 1190, 1280, 1684, 1920]
    wrong = [
        (width, height, most)
        for width in sides
        for height in sides
        for most in (2, 6, 9)
        if max(width, height) > TILE_PX
        and choose_grid(width, height, most)
        != get_optimal_tiled_canvas.__wrapped__((height, width), (TILE_PX, TILE_PX), 2, most)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("width", "height", "grid"),
    [
        (1190, 1684, (2, 3)),  # A4 at 144 dpi
        (1224, 1584, (2, 3)),  # Letter
        (1684, 1190, (3, 2)),
        (640, 640, (1, 1)),
        (641, 640, (2, 2)),
        (896, 896, (2, 2)),
        (1024, 1024, (2, 2)),
        (200, 4000, (1, 6)),
        (4000, 200, (6, 1)),
    ],
)
def test_known_grids(width, height, grid):
    assert choose_grid(width, height, 6) == grid


def test_tie_goes_to_the_later_grid_only_for_a_page_that_fills_half_of_it():
    # Aspect 1: (2, 2) ties with (3, 3) where nine tiles are allowed.
    half = int((0.5 * TILE_PX**2 * 9) ** 0.5)
    assert choose_grid(half, half, 9) == (2, 2)
    assert choose_grid(half + 1, half + 1, 9) == (3, 3)


def test_grids_are_sorted_by_product():
    assert grids(4) == ((1, 2), (2, 1), (1, 3), (3, 1), (1, 4), (2, 2), (4, 1))
    assert len(grids(6)) == 13


@pytest.mark.slow
@given(st.integers(30, 1500), st.integers(30, 1500), st.integers(2, 6))
@settings(max_examples=25, deadline=None)
def test_tiles_put_together_are_the_stretched_page(width, height, max_tiles):
    image = picture(width, height)
    page = views(image, "gundam", max_tiles)
    columns, rows = page.grid
    assert page.global_view.shape == (3, 1024, 1024)
    if page.grid == (1, 1):
        assert page.num_tiles == 0
        assert page.local_views.shape == (0, 3, 640, 640)
        return
    assert page.num_tiles == columns * rows <= max_tiles
    canvas = Image.fromarray(image).resize((640 * columns, 640 * rows), Image.Resampling.BICUBIC)
    raster = np.concatenate(
        [
            np.concatenate([page.local_views[row * columns + column] for column in range(columns)], axis=2)
            for row in range(rows)
        ],
        axis=1,
    )
    assert np.array_equal(raster.transpose(1, 2, 0), np.asarray(canvas))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("width", "height"), [(500, 300), (333, 1000), (1357, 1920), (640, 640)])
def test_global_view_is_what_upstream_makes(mode, width, height):
    image = picture(width, height)
    page = views(image, mode, 6)
    base = MODES[mode].base_px
    if mode in ("tiny", "small"):
        expected = Image.fromarray(image).resize((base, base), Image.Resampling.BICUBIC)
    else:
        expected = ImageOps.pad(Image.fromarray(image), (base, base), color=(127, 127, 127))
    assert np.array_equal(page.global_view.transpose(1, 2, 0), np.asarray(expected))
    assert page.global_view.flags["C_CONTIGUOUS"]
    assert page.local_views.flags["C_CONTIGUOUS"]
    if mode != "gundam":
        assert page.grid == (1, 1)
        assert page.num_tiles == 0


def test_padding_is_grey_and_centred():
    page = views(np.full((300, 600, 3), 255, dtype=np.uint8), "base", 6)
    assert (page.global_view[:, :256] == 127).all()
    assert (page.global_view[:, 256:768] == 255).all()
    assert (page.global_view[:, 768:] == 127).all()


def test_given_grid_wins_over_the_image_size():
    page = views(picture(700, 900), "gundam", 6, grid=(3, 2))
    assert page.grid == (3, 2)
    assert page.num_tiles == 6


@pytest.mark.parametrize(("width", "height"), [(1, 5000), (5000, 1), (1, 1)])
@pytest.mark.parametrize("mode", MODES)
def test_thinnest_images_have_views(width, height, mode):
    page = views(np.zeros((height, width, 3), dtype=np.uint8), mode, 6)
    assert page.global_view.min() == 0


@given(st.integers(10, 3000), st.integers(10, 3000), st.sampled_from(list(MODES)))
def test_scaled_page_covers_or_fits_the_canvas(width, height, mode):
    plan = layout(width, height, mode, 6)
    scale = plan.scale(width, height)
    across, down = scale * width / plan.canvas_px[0], scale * height / plan.canvas_px[1]
    edge = min(across, down) if plan.stretch else max(across, down)
    assert edge == pytest.approx(1)


@pytest.mark.parametrize("mode", ["gundam", "base", "tiny"])
@pytest.mark.parametrize("size", [(1754, 1240), (700, 2100), (500, 400), (3, 2000)])
def test_a_grey_page_has_the_same_views_as_its_three_channels(mode: Mode, size: tuple[int, int]) -> None:
    grey = np.random.default_rng(sum(size)).integers(0, 256, size, dtype=np.uint8)
    page = np.repeat(grey[..., None], 3, axis=2)
    coloured = page.copy()
    coloured[-1, -1, 2] ^= 255  # the other two channels stay, and are resized as those of a colour
    assert is_grey(page)
    assert not is_grey(coloured)
    found, expected = views(page, mode, 6), views(coloured, mode, 6)
    for side in (found.global_view[None], found.local_views):
        assert all(np.array_equal(side[:, 0], side[:, channel]) for channel in (1, 2))
    assert np.array_equal(found.global_view[:2], expected.global_view[:2])
    assert np.array_equal(found.local_views[:, :2], expected.local_views[:, :2])

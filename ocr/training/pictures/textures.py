"""Draws grey textures, photograph-like and printed, from small random fields: fast enough for every page."""

import math
import random
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageChops

Grey = npt.NDArray[np.uint8]


def enlarge(values: npt.NDArray[np.floating], width_px: int, height_px: int, *, smooth: bool = True) -> Grey:
    """Returns [height_px, width_px] grey from a small field of values in 0..1, smoothly or in blocks."""
    small = Image.fromarray((np.clip(values, 0, 1) * 255).astype(np.uint8))
    bent = Image.Resampling.BICUBIC if width_px * height_px < 10**6 else Image.Resampling.BILINEAR  # faster
    how = bent if smooth else Image.Resampling.NEAREST
    return np.asarray(small.resize((width_px, height_px), how))


def clouds(rng: random.Random, width_px: int, height_px: int) -> Grey:
    """Returns fractal noise: sky, stone, fur, a photograph out of focus."""
    source = np.random.default_rng(rng.getrandbits(32))
    fade, finest = rng.uniform(0.35, 0.75), rng.choice([16, 32, 64, 128])
    field = np.zeros((finest, finest), np.float32)
    cells, weight = 2, 1.0
    while cells <= finest:
        layer = source.random((cells, cells), np.float32) * 255
        grown = Image.fromarray(layer).resize((finest, finest), Image.Resampling.BICUBIC)
        field += weight * np.asarray(grown)
        cells, weight = cells * 2, weight * fade
    field = (field - field.min()) / max(1e-6, float(np.ptp(field)))
    return enlarge((field - 0.5) * rng.uniform(0.8, 2.0) + rng.uniform(0.3, 0.7), width_px, height_px)


def gradient(rng: random.Random, width_px: int, height_px: int) -> Grey:
    """Returns a straight or round run from one shade to another."""
    y, x = np.mgrid[0:48, 0:48] / 47.0
    angle = rng.uniform(0, 2 * math.pi)
    if rng.random() < 0.5:
        field = (x - 0.5) * math.cos(angle) + (y - 0.5) * math.sin(angle) + 0.5
    else:
        field = np.hypot(x - rng.random(), y - rng.random())
    low, high = rng.uniform(0, 0.5), rng.uniform(0.5, 1)
    return enlarge(low + (high - low) * field, width_px, height_px)


def waves(rng: random.Random, width_px: int, height_px: int) -> Grey:
    """Returns ripples, wood grain, cloth: two waves and their bending."""
    y, x = np.mgrid[0:192, 0:192] / 191.0
    bend = rng.uniform(0, 3) * np.sin(x * rng.uniform(2, 9) + rng.random() * 6)
    first = np.sin(y * rng.uniform(10, 150) + bend + x * rng.uniform(-20, 20))
    second = np.sin(x * rng.uniform(3, 120) + rng.uniform(0, 2) * np.cos(y * 7))
    mixed = 0.5 + 0.5 * (first * rng.random() + second * rng.random()) / 2
    return enlarge(mixed * rng.uniform(0.5, 1) + rng.uniform(0, 0.3), width_px, height_px)


def blocks(rng: random.Random, width_px: int, height_px: int) -> Grey:
    """Returns squares of random shades or of black and white, as in a mosaic, a heat map or a two-dimensional code."""
    source = np.random.default_rng(rng.getrandbits(32))
    across = rng.randint(5, 60)
    field = source.random((max(3, across * height_px // width_px), across))
    if rng.random() < 0.5:
        field = (field > rng.uniform(0.3, 0.7)).astype(np.float64)
    return enlarge(field, width_px, height_px, smooth=False)


def _tiled(tile: Grey, width_px: int, height_px: int) -> Grey:
    rows, columns = -(-height_px // tile.shape[0]), -(-width_px // tile.shape[1])
    return np.tile(tile, (rows, columns))[:height_px, :width_px]


def halftone(rng: random.Random, picture: Grey) -> Grey:
    """Returns the picture as printed dots: an ordered threshold of 3 to 10 px pitch, at 0 or 45 degrees."""
    pitch = rng.randint(3, 10)
    y, x = np.mgrid[0:pitch, 0:pitch] * (2 * math.pi / pitch)
    wave = np.cos(x) * np.cos(y) if rng.random() < 0.5 else (np.cos(x + y) + np.cos(x - y)) / 2
    threshold = np.argsort(np.argsort(wave.ravel())).reshape(wave.shape) / wave.size * 235 + 10
    screen = _tiled(threshold.astype(np.uint8), picture.shape[1], picture.shape[0])
    screened: Grey = np.where(picture > screen, np.uint8(255), np.uint8(rng.randint(0, 60)))
    return screened


def grain(rng: random.Random, picture: Grey, strength: float) -> Grey:
    """Returns the picture with film grain; strength is its standard deviation in grey levels."""
    source = np.random.default_rng(rng.getrandbits(32))
    tile = np.clip(128 + strength * source.standard_normal((67, 251), np.float32), 0, 255).astype(np.uint8)
    noise = Image.fromarray(_tiled(tile, picture.shape[1], picture.shape[0]))
    return np.asarray(ImageChops.add(Image.fromarray(picture), noise, offset=-128))


TEXTURES: tuple[Callable[[random.Random, int, int], Grey], ...] = (clouds, clouds, gradient, waves, blocks)


def texture(rng: random.Random, width_px: int, height_px: int) -> Grey:
    """Returns [height_px, width_px] grey: one of the textures, sometimes grainy or as halftone dots."""
    picture = rng.choice(TEXTURES)(rng, width_px, height_px)
    if rng.random() < 0.15:
        return halftone(rng, picture)
    return grain(rng, picture, rng.uniform(2, 14)) if rng.random() < 0.3 else picture

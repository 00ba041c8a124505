"""Reads frames of image files as 8-bit RGB, upright, on white.

Every frame of a TIFF is a page, but for thumbnails. The later frames of an animation (GIF, WebP, APNG, AVIF) or of a
collection (HEIC), and the extra pictures that some cameras append to a JPEG, are not pages: of those files the first
picture is read, and the document's row says of the former that others were left out.
"""

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import cast

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter, ImageOps, UnidentifiedImageError
from PIL.TiffImagePlugin import TiffImageFile

from encoders.views import UInt8Array
from ocr.imaging import planes
from pipeline.documents.failures import DocumentError, PageRenderError
from pipeline.documents.rare_images import old_jpeg, register_pam
from pipeline.documents.sniff import Format

# Pillow's own limit is twice as strict for some files as for others; `max_px` below takes its place.
Image.MAX_IMAGE_PIXELS = None

_LEFT_OUT = "its first frame is read, and the others are left out; save them as a PDF or TIFF to have all of them read"
# The tag that says of a TIFF's frame that it is a smaller copy of another, and where it keeps which frames are pages.
_SUBFILE, _PAGES = 254, "ocrbatch pages"
# What a transparent picture may be laid on; less different shades are lost on it, of which it hides hardly any.
_GROUNDS, _ALIKE, _HARDLY = {"white": 255, "black": 0, "grey": 128}, 40, 0.03
_OPAQUE, _SEAM_PX = 128, 5
_DEEP_WHITES = (255, 1023, 4095, 16383, 65535)
# The value that cameras, and Pillow for them, give where the resolution is not known.
_UNDECLARED_DPI = 72
_MIN_DPI, _MAX_DPI = 10, 10_000
# The errors that Pillow's decoders raise on bad data.
DECODE_ERRORS = (
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    LookupError,
    TypeError,
    ArithmeticError,
    struct.error,
    zlib.error,
)


def open_image(path: str, kind: Format) -> Image.Image:
    """Returns the opened file, its pixels not yet decoded. Raises: DocumentError."""
    learn(kind)
    try:
        return Image.open(path, formats=(kind,))
    except UnidentifiedImageError:
        raise DocumentError("broken", f"not a readable {kind} image: its header is damaged") from None
    except DECODE_ERRORS as error:
        raise DocumentError("broken", f"not a readable {kind} image: {_words(error)}") from None


def learn(kind: Format) -> None:
    """Makes Pillow know a format that it knows by a plugin alone; libheif is loaded only where it is needed."""
    if kind == "HEIF":
        import pillow_heif

        pillow_heif.register_heif_opener()
    elif kind == "PAM":
        register_pam()


def count_frames(image: Image.Image) -> int:
    """Returns how many pages the file has: a TIFF's frames that are no thumbnails, else 1. Raises: DocumentError."""
    return len(_page_frames(image))


def left_out(image: Image.Image) -> str:
    """Returns a sentence on the frames that are no pages, the same for every file; "" where there are none.

    The extra pictures that cameras append to a JPEG, and a TIFF's thumbnails, show nothing else.
    """
    try:
        several = image.format not in ("TIFF", "MPO", "JPEG") and getattr(image, "n_frames", 1) > 1
    except DECODE_ERRORS:
        several = True
    return _LEFT_OUT if several else ""


def _page_frames(image: Image.Image) -> list[int]:
    """Returns the numbers of the frames that are pages. A TIFF keeps them, as counting them reads all its directories.

    Raises: DocumentError.
    """
    if image.format != "TIFF":
        return [0]
    if _PAGES not in image.info:
        try:
            frames = range(max(1, getattr(image, "n_frames", 1)))
            pages = [number for number in frames if len(frames) == 1 or not _is_thumbnail(image, number)]
        except DECODE_ERRORS as error:
            raise DocumentError("broken", f"the list of frames is damaged: {_words(error)}") from None
        image.info[_PAGES] = pages or list(frames)
    found: list[int] = image.info[_PAGES]
    return found


def _is_thumbnail(image: Image.Image, number: int) -> bool:
    image.seek(number)
    return bool(int(cast(TiffImageFile, image).tag_v2.get(_SUBFILE, 0)) & 1)


def read_frame(image: Image.Image, index: int, max_px: int) -> tuple[UInt8Array, float | None]:
    """Returns one frame, upright, with square pixels, and its declared dots per inch if any.

    The frame is [H, W, 3] uint8 RGB as ocr.imaging.planes lays it out. Raises: PageRenderError.
    """
    with _as_page_errors():
        image.seek(_page_frames(image)[index] if image.format == "TIFF" else index)
        check_pixels(image.width, image.height, max_px)
        dpi = _declared_dpi(image)
        # Later frames need the file as it is; a single one may be rotated in place.
        is_single = getattr(image, "n_frames", 1) <= 1
        frame = image if is_single else image.copy()
        try:
            frame.load()
        except OSError:
            if not is_single or (decoded := old_jpeg(image)) is None:
                raise
            frame = decoded
        with suppress(*DECODE_ERRORS):  # damaged metadata costs the rotation, not the page
            ImageOps.exif_transpose(frame, in_place=True)
        return planes.of_picture(_squared(to_rgb(frame), dpi)), max(dpi) if dpi else None


def read_frames(image: Image.Image, max_px: int, most: int) -> UInt8Array | None:
    """Returns a file's frames [T, H, W, 3] uint8 RGB, upright, of the first one's size; None for one of a single frame.

    most: of more frames so many are returned, at even distances. max_px: of all that are returned together. Raises:
    PageRenderError.
    """
    with _as_page_errors():
        count = count_frames(image) if image.format == "TIFF" else getattr(image, "n_frames", 1)
    if count <= 1:
        return None
    taken = evenly(count, most)
    first, _ = read_frame(image, 0, max_px)
    height, width, _ = first.shape
    check_pixels(width, height * len(taken), max_px)
    frames = [read_frame(image, index, max_px)[0] for index in taken]
    return np.stack([_as_large(frame, width, height) for frame in frames])


def evenly(num_frames: int, most: int) -> list[int]:
    """Returns at most so many indices of frames, at even distances, with the first and the last."""
    taken = min(most, num_frames)
    return [round(place * (num_frames - 1) / max(1, taken - 1)) for place in range(taken)]


def _as_large(frame: UInt8Array, width: int, height: int) -> UInt8Array:
    if frame.shape[:2] == (height, width):
        return frame
    return np.asarray(
        planes.picture_of(frame).convert("RGB").resize((width, height), Image.Resampling.BICUBIC)
    )


def check_pixels(width: int, height: int, max_px: int) -> None:
    """Raises PageRenderError if an image is larger than the limit."""
    if width * height > max_px:
        raise PageRenderError("oversized", oversized_message(width, height, max_px))


def oversized_message(width: int, height: int, max_px: int) -> str:
    """Returns the error message for an image above the limit."""
    return (
        f"{width} x {height} is {width * height / 1e6:.0f} megapixels, over the limit of {max_px / 1e6:.0f}; "
        "raise ingest.max_image_pixels if the file can be trusted"
    )


def to_rgb(image: Image.Image) -> Image.Image:
    """Returns the image as 8-bit RGB, or L if its mode has no colour: deep greys scaled, transparency laid onto white,
    or onto black or grey where white would hide what is on it.

    May return the image itself.
    """
    if image.mode.startswith(("I", "F")):
        return Image.fromarray(_eight_bits(np.asarray(image)))
    if image.mode == "LAB":
        return image.getchannel(0)
    if image.has_transparency_data:
        rgba = image.convert("RGBA")
        if rgba.getchannel("A").getextrema() == (255, 255):  # as on scans
            return rgba.convert("RGB")
        return Image.alpha_composite(Image.new("RGBA", rgba.size, _ground(rgba)), rgba).convert("RGB")
    if image.mode == "1":
        return image.convert("L")
    return image if image.mode in ("L", "RGB") else image.convert("RGB")


def _ground(rgba: Image.Image) -> str:
    """Returns the colour to lay a transparent picture on: white, unless it hides some of what ends at transparency."""
    opaque = np.asarray(rgba.getchannel("A")) >= _OPAQUE
    inner = np.asarray(Image.fromarray(opaque.astype(np.uint8)).filter(ImageFilter.MinFilter(3))) > 0
    if np.array_equal(inner, opaque):
        return "white"
    # A pale seam of dark letters, which programs leave that make paper transparent, is not hidden with them.
    grey = np.asarray(rgba.convert("L"))
    darkest, lightest = (
        np.asarray(Image.fromarray(np.where(opaque, grey, other)).filter(of_seam(_SEAM_PX)))[opaque & ~inner]
        for other, of_seam in ((np.uint8(255), ImageFilter.MinFilter), (np.uint8(0), ImageFilter.MaxFilter))
    )
    hidden = {
        name: np.mean((darkest > level - _ALIKE) & (lightest < level + _ALIKE))
        for name, level in _GROUNDS.items()
    }
    return "white" if hidden["white"] <= _HARDLY else min(hidden, key=hidden.__getitem__)


def _eight_bits(grey: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    """Returns [H, W] uint8 from greys of any depth.

    White is that of the smallest common depth that holds the brightest pixel (12-bit scans come in 16-bit files);
    floats are taken as 0 to 1 unless they exceed it.
    """
    values = np.nan_to_num(grey.astype(np.float32), posinf=0.0, neginf=0.0)
    top = float(values.max(initial=0.0))
    if np.issubdtype(grey.dtype, np.floating) and top <= 1.0:
        white = 1.0
    else:
        white = float(next((white for white in _DEEP_WHITES if top <= white), top))
    scaled: npt.NDArray[np.uint8] = np.clip(values * (255.0 / white) + 0.5, 0, 255).astype(np.uint8)
    return scaled


def _declared_dpi(image: Image.Image) -> tuple[float, float] | None:
    declared = image.info.get("dpi")
    try:
        x, y = (float(value) for value in declared) if declared else (0.0, 0.0)
    except (TypeError, ValueError, ZeroDivisionError):
        return None
    if image.format in ("JPEG", "MPO") and x == y == _UNDECLARED_DPI:
        return None
    plausible = _MIN_DPI <= x <= _MAX_DPI and _MIN_DPI <= y <= _MAX_DPI
    return (x, y) if plausible else None


def _squared(image: Image.Image, dpi: tuple[float, float] | None) -> Image.Image:
    """Returns the image with square pixels: a standard-resolution fax has 204 x 98 dots per inch."""
    if dpi is None or not 1.1 < max(dpi) / min(dpi) < 4:
        return image
    size = (round(image.width * max(dpi) / dpi[0]), round(image.height * max(dpi) / dpi[1]))
    return image.resize(size, Image.Resampling.BICUBIC)


@contextmanager
def _as_page_errors() -> Iterator[None]:
    try:
        yield
    except DECODE_ERRORS as error:
        raise PageRenderError("broken", f"the image cannot be decoded: {_words(error)}") from None


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__

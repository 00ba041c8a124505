"""A folder whose images are the frames of one video: their order, their joint hash and stamp, and their pixels.

That they are still those that were hashed is checked in documents/open_files.py.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import PurePath

from encoders.views import UInt8Array
from pipeline.documents import images, sniff
from pipeline.documents.failures import DocumentError, PageRenderError
from pipeline.documents.file_access import open_at_once
from pipeline.documents.file_access import stamp_of as stamp_of_file
from pipeline.types import FileStamp

NO_FRAMES = "ingest.video_folders names it as a video, but there is no image in it"
# Before the frames' own hashes, so that no file has a folder's.
_PREFIX = b"ocrbatch frames 1\n"


def natural_order(name: str) -> tuple[tuple[str | int, ...], str]:
    """Returns the key that sorts names as people count: frame2 before frame10, whatever the case."""
    parts = re.split(r"(\d+)", name.lower())
    # The name itself comes last, so that 01 and 1 have an order too.
    return tuple(int(part) if place % 2 else part for place, part in enumerate(parts)), name


def is_frame(name: str) -> bool:
    """Returns whether a file of a video's folder is one of its frames, by its name."""
    return sniff.by_name(name) not in (None, "PDF")


def sha256_of(folder: str, names: Sequence[str]) -> str:
    """Returns a hash of the frames' contents in their order; their names only give the order. Raises: OSError."""
    whole = hashlib.sha256(_PREFIX)
    for name in names:
        with open(PurePath(folder, name), "rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()


def stamp_of(folder: str, names: Sequence[str]) -> FileStamp:
    """Returns a stamp that changes with the frames: bytes are their sum, times the latest. Raises: OSError."""
    own = os.stat(folder)
    num_bytes = modified_ns = changed_ns = 0
    for name in names:
        found = os.stat(PurePath(folder, name))
        num_bytes += found.st_size
        modified_ns, changed_ns = max(modified_ns, found.st_mtime_ns), max(changed_ns, found.st_ctime_ns)
    return own.st_dev, own.st_ino, num_bytes, modified_ns, changed_ns


class FrameFolder:
    """The frames of a folder, which have no rate. names: in order.

    Opening it looks at every frame's header. Raises: DocumentError for one that is no image, of several frames itself,
    or of another size than the first; OSError.
    """

    rate = None
    missing = ""

    def __init__(self, folder: str, names: Sequence[str]) -> None:
        if not names:
            raise DocumentError("broken", NO_FRAMES)
        self._folder, self._names, self.num_frames = folder, tuple(names), len(names)
        sizes = [self._look(name) for name in names]
        self.width_px, self.height_px = sizes[0]
        for name, size in zip(names, sizes, strict=True):
            if size != sizes[0]:
                raise DocumentError(
                    "broken",
                    f"its frames are no video: {name} is {size[0]} x {size[1]} px, {names[0]} "
                    f"{sizes[0][0]} x {sizes[0][1]}; leave it out with ingest.exclude, or the folder out of "
                    "ingest.video_folders",
                )

    def frames(self, indices: Sequence[int], max_px: int) -> Iterator[UInt8Array]:
        """Yields these frames [H, W, 3] uint8 RGB. Raises: PageRenderError."""
        for name in (self._names[index] for index in indices):
            try:
                with closing(images.open_image(*self._form(name))) as image:
                    yield images.read_frame(image, 0, max_px)[0]
            except PageRenderError as error:
                raise PageRenderError(error.category, f"frame {name}: {error.message}") from None
            except DocumentError as error:
                raise PageRenderError("broken", f"frame {name}: {error.reason}") from None

    def close(self) -> None:
        """Does nothing: no frame stays open."""

    def _look(self, name: str) -> tuple[int, int]:
        """Returns a frame's (width, height)."""
        try:
            with closing(images.open_image(*self._form(name))) as image:
                if getattr(image, "n_frames", 1) > 1 and image.format != "MPO":
                    raise DocumentError("broken", "has several frames itself")
                return image.size
        except DocumentError as error:
            raise DocumentError("broken", f"frame {name}: {error.reason}") from None
        except images.DECODE_ERRORS as error:
            raise DocumentError("broken", f"frame {name}: {error or type(error).__name__}") from None

    def _form(self, name: str) -> tuple[str, sniff.Format]:
        """Returns the frame's path and format. Raises: DocumentError, OSError."""
        path = str(PurePath(self._folder, name))
        with open_at_once(path) as file:
            if stamp_of_file(os.fstat(file.fileno())) is None:
                raise DocumentError("broken", "not a regular file")
            head = file.read(sniff.HEAD_BYTES)
        form = sniff.by_content(head, path)
        if form in (None, "PDF"):
            found = f"begins with {sniff.describe(head)}" if head else "empty (0 bytes)"
            raise DocumentError("broken", f"not an image: {found}")
        assert form is not None
        return path, form

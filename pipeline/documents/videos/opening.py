"""Opens a page's video: a folder of frames, or a file."""

import os
from collections.abc import Sequence

from pipeline.documents.damage.failures import DocumentError
from pipeline.documents.sniff import HEAD_BYTES
from pipeline.documents.videos.containers import by_content
from pipeline.documents.videos.frame_folders import FrameFolder
from pipeline.documents.videos.showing import Video
from pipeline.documents.videos.video_files import VideoFile


def open_video(path: str, frames: Sequence[str] = ()) -> Video:
    """Returns an opened video, which the caller closes. frames: the names of a folder's.

    Raises: DocumentError, OSError.
    """
    if os.path.isdir(path):
        return FrameFolder(path, frames)
    with open(path, "rb") as file:
        container = by_content(file.read(HEAD_BYTES))
    if container is None:
        raise DocumentError("broken", "not a video file that can be read")
    return VideoFile(path, container)

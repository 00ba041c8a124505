"""Decodes the wanted frames of a video file through PyAV, which is an extra (`video`) and only imported here.

FFmpeg's demuxer is the one that the file's first bytes name, and it may open nothing but that file: playlists and
references to other files are not followed.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from encoders.views import UInt8Array
from pipeline.documents import images
from pipeline.documents.failures import DocumentError
from pipeline.documents.file_access import utf8_name
from pipeline.documents.sniff import Container

NO_PYAV = "reading video files takes PyAV, which is not installed: pip install av"
_OPTIONS = {"protocol_whitelist": "file"}
# A frame further on than this is sought, as its key frame is likely to be nearer.
_SEEK_S = 10.0
_FULL_TURN_DEG = 360


class VideoFile:
    """An opened video file. rate: frames a second, on average. num_frames: as the file states, or as many as it has.

    missing: after frames() a sentence that says what could not be decoded; "" where all was. Raises: DocumentError for
    a file that cannot be opened, or where PyAV is not installed.
    """

    def __init__(self, path: str, container: Container) -> None:
        av = _pyav()
        self._errors: tuple[type[BaseException], ...] = (av.FFmpegError, ValueError, EOFError)
        self.missing = self._damage = ""
        try:
            with utf8_name(path) as name:
                self._file = av.open(name, format=container, options=_OPTIONS, metadata_errors="replace")
        except self._errors as error:
            raise DocumentError("broken", f"the video cannot be opened: {_words(error)}") from None
        try:
            self._stream = _stream(self._file)
            codec = self._stream.codec_context
            codec.thread_count = 1  # a worker has one thread
            self.width_px, self.height_px = int(codec.width), int(codec.height)
            self.rate = float(
                self._stream.average_rate or self._stream.guessed_rate or self._stream.base_rate or 0
            )
            if self.rate <= 0:
                raise DocumentError("broken", "the video does not say how many frames a second it has")
            self._start_s = float((self._stream.start_time or 0) * (self._stream.time_base or 0))
            self.num_frames = self._declared() or self._counted()
        except self._errors as error:
            self.close()
            raise DocumentError("broken", f"the video cannot be read: {_words(error)}") from None
        except BaseException:
            self.close()
            raise
        if not self.num_frames:
            self.close()
            raise DocumentError("broken", "the video has no frames")

    def frames(self, indices: Sequence[int], max_px: int) -> Iterator[UInt8Array]:
        """Yields these frames [H, W, 3] uint8 RGB, upright, with square pixels; fewer where the video breaks off.

        A frame that is not there, as in videos whose rate changes, gives way to the next one. Raises: PageRenderError.
        """
        images.check_pixels(self.width_px, self.height_px, max_px)
        wanted = list(indices)
        aspect = float(self._stream.sample_aspect_ratio or 1)
        num_yielded, last = 0, -1
        for number, frame in self._decoded(wanted):
            last = number
            while num_yielded < len(wanted) and number >= wanted[num_yielded]:
                images.check_pixels(frame.width, frame.height, max_px)
                yield _pixels(frame, aspect)
                num_yielded += 1
            if num_yielded == len(wanted):
                break
        if num_yielded < len(wanted):
            ended_s, length_s = (last + 1) / self.rate, self.num_frames / self.rate
            self._damage = f"it breaks off after {ended_s:.1f} of {length_s:.1f} s" + (
                f" ({self._damage})" if self._damage else ""
            )
        if self._damage:
            self.missing = f"not all of the video can be decoded: {self._damage}"

    def close(self) -> None:
        """Closes the file."""
        with contextlib.suppress(Exception):
            self._file.close()

    def _decoded(self, wanted: Sequence[int]) -> Iterator[tuple[int, Any]]:
        """Yields frames with their 0-based numbers, ascending: all from a key frame before each wanted one on."""
        pending, number = list(reversed(wanted)), -1
        packets = self._packets_from(pending[-1], number)
        while True:
            sought = False
            for frame in self._frames_of(packets):
                number = max(number + 1, self._number_of(frame, number + 1))
                yield number, frame
                while pending and pending[-1] <= number:
                    pending.pop()
                if not pending:
                    return
                if (pending[-1] - number) / self.rate > _SEEK_S:
                    packets, sought, number = self._packets_from(pending[-1], number), True, -1
                    break
            if not sought:
                return

    def _frames_of(self, packets: Iterator[Any]) -> Iterator[Any]:
        """Yields the packets' frames, leaving out what is damaged."""
        while True:
            try:
                packet = next(packets)
            except StopIteration:
                return
            except self._errors as error:
                self._damage = self._damage or _words(error)
                return
            try:
                decoded = packet.decode()
            except self._errors as error:
                self._damage = self._damage or _words(error)
                continue
            for frame in decoded:
                if frame.is_corrupt:
                    self._damage = self._damage or "some of its frames are damaged"
                yield frame

    def _packets_from(self, index: int, behind: int) -> Iterator[Any]:
        """Returns the packets from the key frame before a wanted frame on. behind: the last one that was decoded.

        From the beginning, or from where it is, if that is near, or where the file cannot be sought in.
        """
        if (index - behind) / self.rate > _SEEK_S:
            at_s = self._start_s + index / self.rate
            with contextlib.suppress(*self._errors):
                self._file.seek(int(at_s / self._stream.time_base), stream=self._stream, backward=True)
        packets: Iterator[Any] = self._file.demux(self._stream)
        return packets

    def _number_of(self, frame: Any, next_number: int) -> int:
        if frame.pts is None or frame.time_base is None:
            return next_number
        return round((float(frame.pts * frame.time_base) - self._start_s) * self.rate)

    def _declared(self) -> int:
        """Returns the number of frames that the file states; 0 where it does not."""
        if self._stream.frames:
            return int(self._stream.frames)
        stated = self._stream.metadata.get("DURATION") or self._stream.metadata.get("duration")
        if stated:
            with contextlib.suppress(ValueError):
                hours, minutes, seconds = (float(part) for part in stated.split(":"))
                return round((3600 * hours + 60 * minutes + seconds) * self.rate)
        return 0

    def _counted(self) -> int:
        """Returns the number of the stream's packets, each a frame; the file is read to its end, but not decoded."""
        count = 0
        with contextlib.suppress(*self._errors):
            for packet in self._file.demux(self._stream):
                count += packet.size > 0
        self._file.seek(0)
        return count


def _pyav() -> Any:
    """Returns PyAV. Raises: DocumentError where it is not installed."""
    try:
        import av
        import av.logging
    except ImportError:
        raise DocumentError("broken", NO_PYAV) from None
    av.logging.set_level(av.logging.PANIC)  # what it has to say is in the errors
    return av


def _stream(file: Any) -> Any:
    """Returns the stream of pictures. Raises: DocumentError."""
    cover = _pyav().stream.Disposition.attached_pic  # a single picture, of a record
    found = [stream for stream in file.streams.video if not stream.disposition & cover]
    if not found:
        raise DocumentError("skipped", "a file of sound without pictures")
    stream = found[0]
    if stream.codec_context is None:
        raise DocumentError("broken", "the video's codec is not known to this FFmpeg")
    return stream


def _pixels(frame: Any, aspect: float) -> UInt8Array:
    """Returns a frame [H, W, 3] uint8 RGB, turned upright. aspect: a pixel's width by its height."""
    width = max(1, round(frame.width * aspect))
    pixels: UInt8Array = frame.reformat(width=width, height=frame.height, format="rgb24").to_ndarray()
    turns = round(-float(frame.rotation) % _FULL_TURN_DEG / 90)
    return np.ascontiguousarray(np.rot90(pixels, -turns % 4)) if turns % 4 else pixels


def _words(error: BaseException) -> str:
    return " ".join((getattr(error, "strerror", None) or str(error) or type(error).__name__).split())

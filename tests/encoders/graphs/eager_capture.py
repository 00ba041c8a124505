from collections.abc import Callable

from encoders.graphs.capturing.capture import Capture


class EagerCapture(Capture):
    """Runs the forward on the padded static buffers, launch by launch: the same results and rules on any device."""

    def _record(self, run: Callable[[], None]) -> tuple[Callable[[], None], Callable[[], None]]:
        return run, lambda: None

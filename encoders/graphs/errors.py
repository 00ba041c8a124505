"""Errors of the encoder graphs. Those about settings and units say what to do."""


class GraphSettingsError(ValueError):
    """A setting makes no sense; the message says what to change."""


class UnitError(ValueError):
    """A unit does not fit its path: its names, dtypes or shapes differ from those of the path's buffers."""


class GraphStaleError(RuntimeError):
    """Memory that a graph was captured with has moved or changed: a replay would read something else."""


class ManagerClosedError(RuntimeError):
    """The manager was used after close()."""

"""Errors of the encoder graphs. Settings and units that make no sense say what to do."""


class GraphSettingsError(ValueError):
    """A setting that cannot be meant: the message says what to change."""


class BudgetError(GraphSettingsError):
    """A token budget that cannot be captured: the message says what to change."""


class UnitError(ValueError):
    """A unit that does not fit its path: other names, types or shapes than the path's buffers."""


class GraphStaleError(RuntimeError):
    """Memory that a graph was captured with has moved or changed: replaying it would read something else."""


class ManagerClosedError(RuntimeError):
    """The manager was used after close()."""

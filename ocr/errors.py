"""Errors that this package raises for its user; every message says what is wrong and what to do."""


class CheckpointError(Exception):
    """A model cannot be loaded: a missing file, a config.json of another kind, or tensors that do not fit."""


class NoPageModelError(CheckpointError):
    """A page model is asked for where there is a line reader alone."""


class ModelTableError(Exception):
    """The table of published models has a key that is unknown, missing or of another type."""

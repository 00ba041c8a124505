"""Defines the base class of all sections of the configuration."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """The base of a section: frozen, strict (no "8" for 8) and closed: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    # Keys that change how fast or whether a page is read, never its text: not part of the settings hash.
    operational: ClassVar[frozenset[str]] = frozenset()

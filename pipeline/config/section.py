"""Defines the base class of all sections of the configuration."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field


class Section(BaseModel):
    """The base of a section: frozen, strict (no "8" for 8) and closed: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    # Keys that change how fast or whether a page is read, never its text: not part of the settings hash.
    operational: ClassVar[frozenset[str]] = frozenset()


def _checked_size(size: int | None) -> int | None:
    if size == 1:
        raise ValueError("a sequence has at least 2 tokens; 0 switches this off")
    return size


# Of a key with the values "on" or "off", which YAML reads as true and false where they are bare.
SWITCH = BeforeValidator(lambda value: ("off", "on")[value] if isinstance(value, bool) else value)
NgramSize = Annotated[int | None, Field(ge=0), AfterValidator(_checked_size)]

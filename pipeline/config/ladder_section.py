"""Defines the configuration's section `ladder`: how pages that were not read well are read again."""

from typing import ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from ocr.imaging.tiling import Mode
from pipeline.config.section import NgramSize, Section

_CHANGES = ("model", "ngram_size", "ngram_window", "mode", "max_tiles", "dpi", "temperature")


class RetryStepConfig(Section):
    """One retry step and its changes from the first reading; None keeps the first reading's value.

    model: another model, which reads whole pages with its own prompt; it is loaded when the first page needs it.
    below: the confidence under which a page takes this step, in place of the ladder's.
    text_layer: takes the document's own text where it can be trusted instead of reading; allows no other changes.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=40)
    model: str | None = None
    below: float | None = Field(default=None, ge=0, le=1)
    ngram_size: NgramSize = None
    ngram_window: int | None = Field(default=None, ge=1)
    mode: Mode | None = None
    max_tiles: int | None = Field(default=None, ge=2, le=9)
    dpi: float | None = Field(default=None, gt=0, le=2400)
    temperature: float | None = Field(default=None, gt=0, le=2)
    seed: int = Field(default=0, ge=0)
    text_layer: bool = False

    @model_validator(mode="after")
    def _changes_something(self) -> "RetryStepConfig":
        changed = [key for key in _CHANGES if getattr(self, key) is not None]
        if self.text_layer and changed:
            raise ValueError(f"text_layer reads nothing; move {' and '.join(changed)} to a rung of its own")
        if not self.text_layer and not changed:
            raise ValueError(f"a rung must change something: one of {', '.join(_CHANGES)} or text_layer")
        return self


DEFAULT_RETRY_STEPS = (
    RetryStepConfig(name="ngram", ngram_size=12, ngram_window=1024),
    RetryStepConfig(name="mode", mode="base"),
    RetryStepConfig(name="temperature", temperature=0.3),
    RetryStepConfig(name="layer", text_layer=True),
)


class LadderConfig(Section):
    """Settings of the ladder: the retry steps by which a page is read again until it was read well.

    memory: whether the models that steps name are loaded beside the first one, or in turn, each after the one before
    has read everything and was let go. The texts are the same.
    """

    below: float = Field(default=0.5, ge=0, le=1)
    memory: Literal["auto", "side_by_side", "in_turn"] = "auto"
    operational: ClassVar[frozenset[str]] = frozenset({"memory"})
    rungs: list[RetryStepConfig] = Field(default_factory=lambda: list(DEFAULT_RETRY_STEPS))

    @field_validator("rungs")
    @classmethod
    def _names_tell_steps_apart(cls, rungs: list[RetryStepConfig]) -> list[RetryStepConfig]:
        names = [step.name for step in rungs]
        if len(set(names)) < len(names):
            raise ValueError("two rungs have the same name; attempts are stored under it")
        return rungs

    @property
    def may_be_in_turn(self) -> bool:
        """Whether no step needs a model again after another one's steps; taking a text layer needs none."""
        models = [rung.model for rung in self.rungs if not rung.text_layer]
        turns = [model for number, model in enumerate(models) if number == 0 or models[number - 1] != model]
        return len(set(turns)) == len(turns) and None not in turns[1:]

    @model_validator(mode="after")
    def _turns_come_once(self) -> "LadderConfig":
        if self.memory == "in_turn" and not self.may_be_in_turn:
            raise ValueError(
                "memory: in_turn lets a model go after its rungs: put those of one model together, and those without a "
                "model first"
            )
        return self

"""Defines the configuration's section `cluster`: how many workers read, and where; GPUs of one encoder."""

from typing import Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from pipeline.config.section import Section

_COUNTED = {"workers": "workers", "encoder_parallel": "GPUs"}


class ClusterConfig(Section):
    """Workers, each with a model of its own; all write into one database. None of it changes what is read.

    workers: "auto": one for each GPU; more of them than GPUs share these. None: this process reads, or, in a cluster,
    as "auto"; 1: this process reads.
    address: of a Ray cluster, "auto" for the one that this machine belongs to; None for this machine alone.
    stall_s: seconds after which a worker that reads and gets nowhere is ended, for others to go on; None for never.
    encoder_parallel: GPUs that the vision encoder of this process is shared out over; auto is one.
    """

    workers: int | Literal["auto"] | None = None
    address: str | None = None
    stall_s: float | None = Field(default=600.0, gt=0)
    encoder_parallel: int | Literal["auto"] = "auto"
    operational: ClassVar[frozenset[str]] = frozenset({"workers", "address", "stall_s", "encoder_parallel"})

    @field_validator("workers", "encoder_parallel", mode="before")
    @classmethod
    def _number_or_auto(cls, value: Any, info: ValidationInfo) -> Any:
        """Checks a number before pydantic tries the union, whose errors would name its alternatives as keys."""
        is_number = type(value) is int and value >= 1
        if is_number or value == "auto" or (value is None and info.field_name == "workers"):
            return value
        raise ValueError(f"write a number of {_COUNTED[str(info.field_name)]} from 1 on, or auto")

    @property
    def num_ranks(self) -> int:
        """The GPUs that the encoder is shared out over."""
        return 1 if self.encoder_parallel == "auto" else self.encoder_parallel

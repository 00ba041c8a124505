"""Defines the configuration's section `cluster`: how many workers read, and where."""

from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from pipeline.config.section import Section


class ClusterConfig(Section):
    """Workers, each with a model of its own; all write into one database. None of it changes what is read.

    workers: "auto": one for each GPU. None: this process reads, or, in a cluster, as "auto"; 1: this process reads.
    address: of a Ray cluster, "auto" for the one that this machine belongs to; None for this machine alone.
    stall_s: seconds after which a worker that reads and gets nowhere is ended, for others to go on; None for never.
    """

    workers: int | Literal["auto"] | None = None
    address: str | None = None
    stall_s: float | None = Field(default=600.0, gt=0)
    operational: ClassVar[frozenset[str]] = frozenset({"workers", "address", "stall_s"})

    @field_validator("workers", mode="before")
    @classmethod
    def _number_or_auto(cls, workers: Any) -> Any:
        """Checks workers before pydantic tries the union, whose errors would name its alternatives as keys."""
        if workers is None or workers == "auto" or (type(workers) is int and workers >= 1):
            return workers
        raise ValueError("write a number of workers from 1 on, or auto")

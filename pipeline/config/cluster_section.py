"""Defines the configuration's section `cluster`: how many workers read, and where."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from pipeline.config.section import Section


class ClusterConfig(Section):
    """Workers, each with a model of its own; all write into one database. None of it changes what is read.

    workers: "auto": one for each GPU. None: this process reads, or, in a cluster, as "auto"; 1: this process reads.
    address: of a Ray cluster, "auto" for the one that this machine belongs to; None for this machine alone.
    """

    workers: Annotated[int, Field(ge=1)] | Literal["auto"] | None = None
    address: str | None = None
    operational: ClassVar[frozenset[str]] = frozenset({"workers", "address"})

"""Checks the machines of a cluster, if one is configured: versions, model and inputs are the same on all of them."""

from collections.abc import Iterator

from pipeline.config.schema import Config
from pipeline.doctor.finding import Finding, fail, note, ok


def check(config: Config) -> Iterator[Finding]:
    """Has each machine look for itself; this one is compared with them."""
    if config.cluster.address is None:
        return
    from pipeline.cluster.machines import look, machines

    here, found = look(config), machines(config)
    yield ok("cluster", f"{len(found)} machines, {sum(its.num_gpus for its in found)} GPUs")
    for its in found:
        for fault in its.faults:
            yield fail(f"machine {its.host}", fault, "workers there would fail: mend it, or take it out")
        others = {
            name: version for name, version in its.versions.items() if here.versions.get(name) != version
        }
        shown = ", ".join(
            f"{name} {version} (here {here.versions.get(name)})" for name, version in others.items()
        )
        if {"ocrbatch", "python"} & others.keys():
            yield fail(f"machine {its.host}", f"other versions: {shown}", "install the same on all machines")
        elif others:
            yield note(f"machine {its.host}", f"other versions, texts may differ: {shown}")
        if its.model is not None and its.model != here.model:
            yield fail(
                f"machine {its.host}", f"another model under {config.model}", "copy the same files there"
            )
        if not its.faults and not others and its.model == here.model:
            yield ok(f"machine {its.host}", f"as this one; {its.num_gpus} GPUs")

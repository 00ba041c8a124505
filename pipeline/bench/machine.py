"""Describes the machine that a measurement was made on: hardware and versions."""

import contextlib
import os
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from pipeline.device.gpu_meter import ask_driver
from pipeline.device.startup.loading import available_cpus
from pipeline.run.versions import versions


def describe(device: torch.device) -> dict[str, Any]:
    """Returns the machine's hardware and versions as JSON values. Memory in bytes."""
    found: dict[str, Any] = {
        "cpu": _cpu_name(),
        "cpus": available_cpus(),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "threads": torch.get_num_threads(),
        "versions": versions() | {"cuda": torch.version.cuda},
    }
    with contextlib.suppress(metadata.PackageNotFoundError):
        found["versions"]["triton"] = metadata.version("triton")
    if device.type == "cuda":
        properties: Any = torch.cuda.get_device_properties(device)
        driver = ask_driver(lambda nvml: str(nvml.nvmlSystemGetDriverVersion()))
        found |= {"gpu": properties.name, "gpu_memory_bytes": properties.total_memory, "driver": driver}
    return found


def machine_line(machine: Mapping[str, Any]) -> str:
    """Returns a report's line about the machine. machine: as describe() has it."""
    where = machine.get("gpu") or f"{machine['cpu']}, {machine['threads']} threads"
    return f"{where}; torch {machine['versions'].get('torch')}, Python {machine['versions']['python']}"


def _cpu_name() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()

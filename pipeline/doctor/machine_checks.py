"""Checks the machine: Python and packages, the device, what is left of memory and disk, the others of a cluster.

Imports no package that may be broken before its check: the one that uses it finds it.
"""

import contextlib
import os
import shutil
import sqlite3
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from platform import python_implementation, python_version
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from ocr.errors import CheckpointError
from ocr.model_files.locate import find_directory, has_lines
from pipeline.config.schema import Config
from pipeline.device.gpu_meter import ask_driver
from pipeline.device.sizes import available_bytes, inflight_mb
from pipeline.device.startup.loading import available_cpus, calm_threads, line_readers, render_workers
from pipeline.doctor.examination import Finding, fail, note, ok, size
from pipeline.ingest.workers.shared_memory import Arena

_SOURCE = Path(__file__).parents[2] / "pyproject.toml"
_CPU_FLAGS = {"amx_bf16": "AMX", "avx512_bf16": "AVX-512 bf16"}
_SIDE = 64
# A page takes 10 to 30 kB: its rows with its text twice, blocks, times and the search index.
_PAGE_BYTES = 30_000
_LEAST_BYTES, _FEW_PAGES = 256 << 20, 100_000
_TRIAL_BYTES = 16 << 20
# Memory of the program, of a process that draws pages and of one that reads lines: the most over 36 scans, each process
# by its share of what they share. And of PyTorch with a page model of 24 million parameters that reads eight pages.
_PROGRAM_BYTES, _WORKER_BYTES, _READER_BYTES, _MODEL_BYTES = 128 << 20, 230 << 20, 450 << 20, 2 << 30
_OPEN_FILES = 256


def check_software(config: Config) -> Iterator[Finding]:
    """Checks versions against the ranges that this package declares."""
    wanted, requirements = declared()
    python = python_version()
    if SpecifierSet(wanted).contains(python, prereleases=True):
        yield ok("Python", f"{python_implementation()} {python}")
    else:
        remedy = "install a Python of that range, and ocrbatch with it"
        yield fail("Python", f"{python} is not {wanted}", remedy)
    found = [(requirement, _version(requirement.name)) for requirement in requirements]
    wrong = [
        (requirement, version)
        for requirement, version in found
        if not version or not requirement.specifier.contains(version, prereleases=True)
    ]
    for requirement, version in wrong:
        yield fail(
            requirement.name,
            f"{version} is not {requirement.specifier}" if version else "not installed",
            f"pip install '{requirement}'",
        )
    if not wrong:
        shown = ", ".join(f"{requirement.name} {version}" for requirement, version in found)
        yield ok("packages", shown)
    yield _sqlite()


def declared() -> tuple[str, list[Requirement]]:
    """Returns the range of Python versions, and the requirements without extras.

    They are read from pyproject.toml in a source tree, whose installed metadata may be older; else from the metadata.
    """
    if _SOURCE.is_file():
        project = tomllib.loads(_SOURCE.read_text(encoding="utf-8"))["project"]
        return project["requires-python"], [Requirement(text) for text in project["dependencies"]]
    package = metadata.metadata("ocrbatch")
    requirements = [Requirement(text) for text in metadata.requires("ocrbatch") or []]
    return package["Requires-Python"], [
        item for item in requirements if item.marker is None or item.marker.evaluate({"extra": ""})
    ]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _sqlite() -> Finding:
    with contextlib.closing(sqlite3.connect(":memory:")) as conn:
        try:
            conn.execute("CREATE VIRTUAL TABLE t USING fts5(text)")
        except sqlite3.OperationalError as error:
            return fail("SQLite", f"{sqlite3.sqlite_version}, {error}", "use a Python whose SQLite has FTS5")
    if sqlite3.threadsafety == 0:
        return note("SQLite", f"{sqlite3.sqlite_version}, built without threads", "use another Python")
    return ok("SQLite", f"{sqlite3.sqlite_version} with full-text search")


def check_device(config: Config) -> Iterator[Finding]:
    """Checks a GPU's driver, matrix products, Triton and graphs; without a GPU, the CPU's bfloat16 support."""
    calm_threads()
    try:
        import torch
    except Exception as error:  # a broken installation may raise anything
        yield fail(
            "PyTorch", f"cannot be imported: {error}", "install it again; pytorch.org says which build"
        )
        return
    build = f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPU"
    yield ok("PyTorch", f"{torch.__version__}, built for {build}")
    if config.device == "cpu" or not torch.cuda.is_available():
        yield from _without_gpu(config, torch)
        return
    device = torch.device("cuda", torch.cuda.current_device())
    yield _gpu(torch, device)
    for what, probe in (("GPU product", _product), ("Triton", _triton), ("CUDA graph", _graph)):
        try:
            yield probe(torch, device)
        except Exception as error:  # drivers, compilers and libraries raise anything
            message = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            yield fail(what, message, _REMEDIES[what])


_REMEDIES = {
    "GPU product": "check that driver and PyTorch build fit the GPU, or use device: cpu",
    "Triton": "it needs a C compiler and Python's headers; without it a run is slower",
    "CUDA graph": "set encoder.graphs: off",
}


def _without_gpu(config: Config, torch: Any) -> Iterator[Finding]:
    found = None
    if config.device != "cpu":  # whether PyTorch can use what the driver sees or not
        found = ask_driver(lambda nvml: str(nvml.nvmlDeviceGetName(nvml.nvmlDeviceGetHandleByIndex(0))))
    if config.device == "cuda":
        yield fail(
            "GPU", "device: cuda is configured, but PyTorch finds no CUDA GPU", "use device: auto or cpu"
        )
    if found and not torch.version.cuda:
        yield note(
            "GPU", f"{found}, but this PyTorch is built for the CPU", "install a CUDA build to use the GPU"
        )
    elif found:
        yield fail("GPU", f"{found}, but PyTorch cannot use it", "install a driver that fits PyTorch's CUDA")
    if config.device == "cuda":  # a run ends at once
        return
    flags = _cpu_flags()
    fast = ", ".join(
        f"{name} {'found' if flag in flags else 'not found'}" for flag, name in _CPU_FLAGS.items()
    )
    why = "configured" if config.device == "cpu" else "no GPU"
    yield ok("device", f"{why}: runs on the CPU, {available_cpus()} CPUs, {fast}")


def _gpu(torch: Any, device: Any) -> Finding:
    properties = torch.cuda.get_device_properties(device)
    driver = ask_driver(lambda nvml: nvml.nvmlSystemGetDriverVersion()) or "unknown"
    capability = f"{properties.major}.{properties.minor}"
    found = f"{properties.name}, {size(properties.total_memory)}, compute capability {capability}, driver {driver}"
    supported = [name.removeprefix("sm_") for name in torch.cuda.get_arch_list() if name.startswith("sm_")]
    if supported and not _runs_on(properties.major, properties.minor, supported):
        return fail(
            "GPU", found, f"this PyTorch is built for {', '.join(supported)}: install one for this GPU"
        )
    if properties.major < 8:
        return note("GPU", f"{found}: does not support bfloat16", "set dtype: float32")
    return ok("GPU", found)


def _runs_on(major: int, minor: int, supported: list[str]) -> bool:
    """Returns whether code was built for this architecture: for its generation, and not for a newer member of it."""
    versions = [divmod(int("".join(filter(str.isdigit, name))), 10) for name in supported]
    return any(version[0] == major and version[1] <= minor for version in versions)


def _product(torch: Any, device: Any) -> Finding:
    """Checks matrix products of whole numbers, which every dtype here multiplies without rounding."""
    square = torch.arange(_SIDE * _SIDE).reshape(_SIDE, _SIDE) % 7 - 3
    expected = (square @ square).float()
    for dtype in (torch.float32, torch.bfloat16):
        values = square.to(device, dtype)
        if not torch.equal((values @ values).float().cpu(), expected.to(dtype).float()):
            return fail("GPU product", f"a product in {dtype} is wrong", _REMEDIES["GPU product"])
    return ok("GPU product", "right in float32 and bfloat16")


def _triton(torch: Any, device: Any) -> Finding:
    try:
        import triton
    except ImportError:
        return note("Triton", "not installed: a run is slower without it", "pip install triton")
    from pipeline.doctor.triton_probe import double

    values = torch.arange(1000, device=device, dtype=torch.float32)
    if not torch.equal(double(values), values + values):
        return fail(
            "Triton", f"{triton.__version__}: a kernel gives a wrong result", "install PyTorch's own triton"
        )
    return ok("Triton", f"{triton.__version__} compiles and runs")


def _graph(torch: Any, device: Any) -> Finding:
    """Captures a matrix product, replays it on other numbers, and compares it with an ordinary launch."""
    values = torch.zeros(_SIDE, _SIDE, device=device)
    weight = torch.randn(_SIDE, _SIDE, device=device)
    stream, graph = torch.cuda.Stream(device), torch.cuda.CUDAGraph()
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        (values @ weight).relu()
    torch.cuda.current_stream(device).wait_stream(stream)
    with torch.cuda.graph(graph):
        result = (values @ weight).relu()
    values.copy_(torch.randn(_SIDE, _SIDE, device=device))
    graph.replay()
    torch.cuda.synchronize(device)
    if not torch.equal(result, (values @ weight).relu()):
        return fail("CUDA graph", "a replay and the launch differ", _REMEDIES["CUDA graph"])
    return ok("CUDA graph", "captured and replayed, with the same result")


def _cpu_flags() -> frozenset[str]:
    """Returns the instruction sets that the kernel reports; none where there is no /proc."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line for line in lines if line.startswith(("flags", "Features"))), "").split())


def check_disk(config: Config) -> Iterator[Finding]:
    """Checks the free space for the database, and for temporary files and compiled kernels."""
    folder = os.path.dirname(os.path.realpath(config.store.database))
    places = {"disk of the database": folder, "disk of temporary files": tempfile.gettempdir()}
    for what, place in places.items():
        try:
            free = shutil.disk_usage(place).free
        except OSError as error:
            yield fail(what, f"{place}: {error.strerror}", "name a folder that exists")
            continue
        yield _space(what, place, free)


def _space(what: str, place: str, free: int) -> Finding:
    found = f"{size(free)} free in {place}"
    if free < _LEAST_BYTES:
        return fail(what, found, f"free some: at least {size(_LEAST_BYTES)}")
    if "database" not in what:
        return ok(what, found)
    pages = free // _PAGE_BYTES
    found += f", room for some {pages:,} pages at {_PAGE_BYTES // 1000} kB"
    return note(what, found, "more pages than that fill it") if pages < _FEW_PAGES else ok(what, found)


def check_memory(config: Config) -> Iterator[Finding]:
    """Checks the memory for pages in flight, shared memory, and the limits of this process."""
    available = available_bytes()
    if available is not None:
        yield _memory(available, config)
    yield from _shared()
    if sys.platform != "win32":
        yield from _limits()


def _memory(available: int, config: Config) -> Finding:
    workers, readers, is_by_lines = render_workers(config), line_readers(config), False
    with contextlib.suppress(CheckpointError):  # of a model that is missing another check tells
        is_by_lines = has_lines(find_directory(config.model))
    inflight = inflight_mb(config, None, readers)
    reading = readers * _READER_BYTES if is_by_lines else _MODEL_BYTES
    needed = _PROGRAM_BYTES + reading + (inflight << 20) + workers * _WORKER_BYTES
    run = "a run" if is_by_lines else "a run with a small model"
    found = f"{size(available)} available, of which {run} takes about {size(needed)}"
    if available < needed:
        return fail("memory", found, "lower run.inflight_mb or render.workers, or free some")
    return ok("memory", f"{found} (run.inflight_mb {inflight}, render.workers {workers})")


def _shared() -> Iterator[Finding]:
    """Checks shared memory for rendered pages: unnamed, so that /dev/shm does not limit it."""
    arena = Arena.where_possible(_TRIAL_BYTES)
    if arena is None:
        yield note("shared memory", "not available here: rendered pages come through pipes, which is slower")
    else:
        arena.close()
        yield ok("shared memory", "rendered pages go through it; it counts as memory, not against /dev/shm")


def _limits() -> Iterator[Finding]:
    import resource

    files, space = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS))
    if files != resource.RLIM_INFINITY and files < _OPEN_FILES:
        yield fail("open files", f"{files} allowed", f"ulimit -n {4 * _OPEN_FILES}")
    else:
        yield ok("open files", "no limit" if files == resource.RLIM_INFINITY else f"{files} allowed")
    if space != resource.RLIM_INFINITY:
        yield note(
            "address space",
            f"limited to {size(space)}",
            "ulimit -v unlimited: libraries map more than they use",
        )


def check_cluster(config: Config) -> Iterator[Finding]:
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

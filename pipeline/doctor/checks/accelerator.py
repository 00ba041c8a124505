"""Checks the device that the model would run on: a GPU, from its driver to a replayed graph, or the CPU's features."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.config.schema import Config
from pipeline.device.startup.loading import available_cpus, calm_threads
from pipeline.doctor.finding import Finding, fail, note, ok, size

_CPU_FLAGS = {"amx_bf16": "AMX", "avx512_bf16": "AVX-512 bf16"}
_SIDE = 64


def check(config: Config) -> Iterator[Finding]:
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
    found = _nvidia_gpu() if config.device != "cpu" else None
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
    capability = f"{properties.major}.{properties.minor}"
    found = f"{properties.name}, {size(properties.total_memory)}, compute capability {capability}, driver {_driver()}"
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


def _driver() -> str:
    with contextlib.suppress(Exception):  # NVML may be missing where CUDA works
        import pynvml  # type: ignore[import-not-found, import-untyped, unused-ignore]

        pynvml.nvmlInit()
        try:
            return str(pynvml.nvmlSystemGetDriverVersion())
        finally:
            pynvml.nvmlShutdown()
    return "unknown"


def _nvidia_gpu() -> str | None:
    """Returns the name of a GPU that the driver sees, whether PyTorch can use it or not."""
    with contextlib.suppress(Exception):
        import pynvml

        pynvml.nvmlInit()
        try:
            return str(pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(0)))
        finally:
            pynvml.nvmlShutdown()
    return None


def _cpu_flags() -> frozenset[str]:
    """Returns the instruction sets that the kernel reports; none where there is no /proc."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line for line in lines if line.startswith(("flags", "Features"))), "").split())

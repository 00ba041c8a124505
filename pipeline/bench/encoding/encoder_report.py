"""Runs `ocrbatch bench encoder` from its options and prints its report. Imports torch only to run."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pipeline.device.startup.loading import calm_threads, choose_device, choose_dtype
from pipeline.errors import ConfigError

if TYPE_CHECKING:
    from pipeline.bench.encoding.encoder_bench import BenchResult, BenchSettings


def run(**options: Any) -> "BenchResult":
    """Measures on the device and in the dtype that a run would choose. Raises: CheckpointError, ConfigError."""
    settings = settings_of(**options)
    from pipeline.bench.encoding.encoder_bench import bench

    return bench(settings)


def settings_of(*, device: str, dtype: str, arms: str, **settings: Any) -> "BenchSettings":
    """Returns the settings that the options say, for the device that a run would choose. Raises: ConfigError."""
    calm_threads()
    from pipeline.bench.encoding.encoder_arms import ARMS
    from pipeline.bench.encoding.encoder_bench import BenchSettings

    names = [name.strip() for name in arms.split(",")]
    if unknown := set(names) - set(ARMS):
        raise ConfigError(f"--arms {arms}: there is no {min(unknown)!r}; choose from {', '.join(ARMS)}")
    chosen = choose_device(device)
    return BenchSettings(device=chosen, dtype=choose_dtype(dtype, chosen), arms=tuple(names), **settings)


def lines(result: "BenchResult") -> Iterator[str]:
    """Yields the report's lines: a table for every arm, then the arms side by side, their graphs and differences."""
    from pipeline.bench.encoding.latency_table import comparison, paths, table

    yield ", ".join(f"{key} {value}" for key, value in result.machine.items())
    for arm in result.arms:
        yield from table(arm)
        yield ""
    yield from comparison(result.arms)
    yield from paths(result.arms)
    for name, error in result.errors.items():
        yield f"{name}: relative error to {result.arms[0].name} {error:.1e}"
    for pair, difference in result.parity.items():
        yield f"Parity, {pair}: largest relative difference {difference:.1e}"
    for name, why in result.missing.items():
        yield f"No arm {name}: {why}"

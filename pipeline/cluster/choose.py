"""Chooses a run's workers by its configuration, and runs it with them."""

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from pipeline.config.schema import Config, reads_lines
from pipeline.device.startup.loading import count_gpus, is_sure_to_read
from pipeline.device.threads.preload import import_ahead
from pipeline.ingest.workers.fork_servers import server
from pipeline.ingest.workers.task_pool import IMPORTS

if TYPE_CHECKING:
    from pipeline.cluster.worker_backend import WorkerBackend
    from pipeline.reports.summary import Progress, RunSummary
    from pipeline.stop import Stop


def backend(config: Config) -> "WorkerBackend | None":
    """Returns the workers that the configuration asks for; None where this process reads. Raises: ConfigError."""
    cluster = config.cluster
    if cluster.address is not None:
        from pipeline.cluster.ray_workers import RayWorkers

        return RayWorkers(cluster.address, cluster.workers if isinstance(cluster.workers, int) else None)
    if cluster.workers in (None, 1):
        return None
    from pipeline.cluster.local_workers import LocalWorkers

    num_gpus = 0 if config.device == "cpu" else count_gpus()
    size = max(1, num_gpus) if cluster.workers == "auto" else int(cluster.workers or 1)
    return None if size == 1 else LocalWorkers(size, num_gpus)


def run(
    config: Config, progress: "Progress", stop: "Stop", summary: "RunSummary | None" = None
) -> "RunSummary":
    """Runs a batch with the workers that the configuration asks for, or in this process; returns the run's summary.

    summary: is filled in. Raises: what pipeline.run.runner.run and cluster_run.run raise.
    """
    workers = backend(config)
    if workers is None:
        if is_sure_to_read(config):
            import_ahead(config.device)
        elif reads_lines(config) and sys.platform == "linux":
            with suppress(OSError):  # which the first process tells
                server(IMPORTS).ensure_running()
        from pipeline.run import runner

        return runner.run(config, progress, stop, summary=summary)
    from pipeline.cluster import cluster_run

    return cluster_run.run(workers, config, progress, stop, summary)

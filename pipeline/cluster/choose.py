"""Chooses a run's workers by its configuration."""

from pipeline.cluster.crew import Crew
from pipeline.config.schema import Config


def crew(config: Config) -> Crew | None:
    """Returns the workers that the configuration asks for; None where this process reads. Raises: ConfigError."""
    cluster = config.cluster
    if cluster.address is not None:
        from pipeline.cluster.ray_crew import RayCrew

        return RayCrew(cluster.address, cluster.workers if isinstance(cluster.workers, int) else None)
    if cluster.workers in (None, 1):
        return None
    from pipeline.cluster.local_crew import LocalCrew, count_gpus

    num_gpus = 0 if config.device == "cpu" else count_gpus()
    size = max(1, num_gpus) if cluster.workers == "auto" else int(cluster.workers or 1)
    return None if size == 1 else LocalCrew(size, num_gpus)

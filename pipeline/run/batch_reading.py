"""Reads inputs with models of this process and its render workers, and tells what they did and where the time went."""

import asyncio
import dataclasses
from collections.abc import Sequence

from pipeline.config.schema import ingest_settings, render_settings, tile_settings, with_model
from pipeline.device.open_models import Models
from pipeline.device.sizes import inflight_mb
from pipeline.device.startup.loading import line_readers, render_workers
from pipeline.ingest.inputs import InputFiles
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.meter import Meter, StageUse, metered_loop
from pipeline.reports.summary import ModelFigures
from pipeline.run.budget import Budget, heaviest_page_bytes
from pipeline.run.discovery import Planner
from pipeline.run.ending import figures
from pipeline.run.flow import Flow
from pipeline.run.ledger import Ledger
from pipeline.stop import Stop


class Reading:
    """The readers and render workers of one run; single use.

    planner: decides what is read where the run's database is not in this process.
    """

    def __init__(
        self,
        ledger: Ledger,
        stop: Stop,
        models: Models,
        passwords: Sequence[str],
        planner: Planner | None = None,
    ) -> None:
        self._ledger, self._stop, self._planner = ledger, stop, planner
        self._config = config = ledger.config
        self._models = models
        self._passwords = tuple(passwords)
        self._tile = tile_settings(config)
        readers = 0 if models.lines is None else line_readers(config)
        self._budget = Budget(inflight_mb(config, None, readers) << 20)
        steps = [self._tile, *(tile_settings(with_model(config, name)) for name in models.others)]
        self._page_bytes = max(map(heaviest_page_bytes, steps))
        self._discovering, self._rendering, self._looping = Meter(), Meter(), Meter()

    def read(self, inputs: InputFiles) -> None:
        """Reads all inputs and closes the models. Raises what ended it early; what was read by then is stored."""
        config = self._config
        with WorkerPool(
            max_workers=render_workers(config),
            ingest=ingest_settings(config, self._passwords),
            render=render_settings(config, self._passwords),
            tile=self._tile,
            page_timeout_s=config.render.page_timeout_s,
            probe_timeout_s=config.ingest.probe_timeout_s,
            memory_bytes=config.render.worker_memory_mb << 20,
            page_bytes=self._page_bytes,
            discovering=self._discovering,
            rendering=self._rendering,
        ) as workers:
            for readers in self._models.line_readers:
                readers.arena = workers.arena
            try:
                with asyncio.Runner(loop_factory=lambda: metered_loop(self._looping)) as loop:
                    flow = Flow(
                        self._ledger,
                        self._stop,
                        self._models,
                        workers,
                        self._budget,
                        self._page_bytes,
                        self._planner,
                    )
                    loop.run(flow.run(inputs))
            finally:
                self._models.first.close()
                for readers in self._models.line_readers:
                    readers.close()

    def figures(self) -> ModelFigures:
        """Returns what the models did."""
        return figures(self._models)

    def stages(self, wall_s: float) -> list[StageUse]:
        """Returns where each stage's time went.

        Discovery and rendering share the workers; time that these waited for room in the budget counts for rendering.
        """
        workers, models = render_workers(self._config), self._models
        names = {rung.model: rung.name for rung in self._config.ladder.rungs}
        discover = self._discovering.use("discover", wall_s * workers)
        render = self._rendering.use("render", wall_s * workers)
        idle = max(0.0, 1 - discover.busy - render.busy)
        blocked = min(idle, self._budget.waited_s / wall_s) if wall_s else 0.0
        return [
            discover,
            dataclasses.replace(render, waiting_input=idle - blocked, waiting_output=blocked),
            *([] if models.lines is None else [models.lines.use(wall_s)]),
            *([] if models.words is None or not models.words.is_started else [models.words.use(wall_s)]),
            *models.first.stages(wall_s),
            *(
                dataclasses.replace(use, name=f"{use.name} ({names[name]})")
                for name, model in models.others.items()
                for use in model.stages(wall_s)
            ),
            self._looping.use("flow", wall_s),
            self._ledger.writer.use(wall_s),
        ]

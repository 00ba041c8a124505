"""Reads inputs with a run's workers and models, and tells where the time went."""

import asyncio
import dataclasses
from collections.abc import Sequence

from pipeline.config.schema import ingest_settings, render_settings, tile_settings, with_model
from pipeline.device.sizes import inflight_mb
from pipeline.device.startup.loading import render_workers
from pipeline.ingest.inputs import InputFiles
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.meter import Meter, StageUse, metered_loop
from pipeline.run.budget import Budget, heaviest_page_bytes
from pipeline.run.discovery import Planner
from pipeline.run.flow import Flow
from pipeline.run.ledger import Ledger
from pipeline.run.open_models import Models
from pipeline.stop import Stop


class Reading:
    """What reads a run's inputs: its models, and worker processes that render pages. Reads once.

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
        self._model, self._lines, self._others = models.first, models.lines, models.others
        self._words = models.words
        self._passwords = tuple(passwords)
        self._tile = tile_settings(config)
        self._budget = Budget(inflight_mb(config, None) << 20)
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
            for model in (self._model, *self._others.values()):
                model.arena = workers.arena
            for lines in (self._lines, self._words):
                if lines is not None:
                    lines.arena = workers.arena
            try:
                with asyncio.Runner(loop_factory=lambda: metered_loop(self._looping)) as loop:
                    flow = Flow(
                        self._ledger,
                        self._stop,
                        self._model,
                        workers,
                        self._budget,
                        self._page_bytes,
                        self._lines,
                        self._others,
                        self._words,
                        self._planner,
                    )
                    loop.run(flow.run(inputs))
            finally:
                self._model.close()
                for lines in (self._lines, self._words):
                    if lines is not None:
                        lines.close()

    def stages(self, wall_s: float) -> list[StageUse]:
        """Returns where each stage's time went.

        Discovery and rendering share the workers; time that these waited for room in the budget counts for rendering.
        """
        workers = render_workers(self._config)
        names = {rung.model: rung.name for rung in self._config.ladder.rungs}
        discover = self._discovering.use("discover", wall_s * workers)
        render = self._rendering.use("render", wall_s * workers)
        idle = max(0.0, 1 - discover.busy - render.busy)
        blocked = min(idle, self._budget.waited_s / wall_s) if wall_s else 0.0
        return [
            discover,
            dataclasses.replace(render, waiting_input=idle - blocked, waiting_output=blocked),
            *([] if self._lines is None else [self._lines.use(wall_s)]),
            *([] if self._words is None or not self._words.is_started else [self._words.use(wall_s)]),
            *self._model.stages(wall_s),
            *(
                dataclasses.replace(use, name=f"{use.name} ({names[name]})")
                for name, model in self._others.items()
                for use in model.stages(wall_s)
            ),
            self._looping.use("flow", wall_s),
            self._ledger.writer.use(wall_s),
        ]

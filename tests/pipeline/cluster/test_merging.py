"""Many workers' reports as one run's figures."""

from dataclasses import replace

from pipeline.cluster.worker_messages import Report, merged_figures, merged_stages
from pipeline.meter import StageUse
from pipeline.reports.summary import ModelFigures


def stage(name: str, busy: float) -> StageUse:
    return StageUse(name=name, busy=busy, waiting_input=1 - busy, waiting_output=0.0)


def test_stages_are_averaged_over_all_workers_time() -> None:
    one = Report(
        wall_s=10,
        stages=(stage("render", 0.5), stage("store", 0.1)),
        did=ModelFigures(load_s=2, num_tokens=5, gpu_busy=0.5),
    )
    other = replace(
        one,
        wall_s=30,
        stages=(stage("render", 0.1), stage("words", 0.4)),
        did=ModelFigures(load_s=3, num_tokens=5, gpu_busy=0.7),
    )
    idle = Report()
    found = {its.name: round(its.busy, 6) for its in merged_stages([one, other, idle])}
    assert found == {"render": 0.2, "words": 0.3}
    did = merged_figures([one, other, idle])
    assert (did.load_s, did.num_tokens, round(did.gpu_busy or 0, 6), did.encoder) == (3, 10, 0.6, None)
    assert merged_stages([]) == []

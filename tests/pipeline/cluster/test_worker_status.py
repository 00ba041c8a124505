"""What workers do is told by what they say and store, and one that gets nowhere is noticed."""

from dataclasses import asdict

from pipeline.cluster.worker_status import FINISHED, WorkerStatus
from pipeline.reports.run_figures import in_brief, worker_lines


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_worker_that_reads_and_gets_nowhere_is_stalled() -> None:
    clock = Clock()
    status = WorkerStatus(clock)
    status.began(0)
    clock.now = 350.0
    assert not status.is_stalled(0, 60.0, 1)  # it loads
    clock.now = 361.0
    assert status.is_stalled(0, 60.0, 1)
    status.at_work(0, "reading", 0)
    for number, moves in enumerate(
        (lambda: status.stored(0), lambda: status.at_work(0, "reading", 5), lambda: None)
    ):
        moves()
        assert status.is_stalled(0, 60.0, 1) is (number == 2)
        clock.now += 61
        assert status.is_stalled(0, 60.0, 1)
    status.at_work(0, "reading", 5)  # as before
    assert status.is_stalled(0, 60.0, 1)
    status.waits(0, is_waiting=True)
    clock.now += 61
    assert status.is_stalled(0, 60.0, 1)
    assert not status.is_stalled(0, 60.0, 0)


def test_speeds_count_from_a_worker_s_first_page() -> None:
    clock = Clock()
    status = WorkerStatus(clock)
    for worker in (0, 1):
        status.began(worker)
        status.stands(worker, f"host{worker}, GPU {worker}")
    status.at_work(0, "reading", 7)
    status.at_work(1, "loading the model", 0)
    for at in (100.0, 101.0, 102.0):
        clock.now = at
        status.stored(0)
    uses = status.uses(lambda worker: 4 * (worker == 0))
    assert in_brief(uses) == "2 workers: 1.00 pages/s, 1 loading the model"
    assert list(worker_lines([asdict(its) for its in uses])) == [
        "worker 0 (host0, GPU 0): reading, 3 pages, 1.00 pages/s, 4 more to read",
        "worker 1 (host1, GPU 1): loading the model, 0 pages",
    ]
    status.ended(1, FINISHED)
    assert [its.number for its in status.uses(lambda _: 0, with_ended=False)] == [0]
    assert status.num_stored(0) == 3


def test_many_workers_are_told_by_the_slowest_and_the_fastest() -> None:
    clock = Clock()
    status = WorkerStatus(clock)
    for worker in range(6):
        clock.now = 0.0
        status.began(worker)
        status.at_work(worker, "reading", 1)
        status.stored(worker)
        clock.now = 1.0 + worker
        status.stored(worker)
    assert in_brief(status.uses(lambda _: 0)) == "6 workers: 6 reading, each 0.17 to 1.00 pages/s"

import torch

from ocr.decoding.gpu.forward.pending import NUM_IN_FLIGHT, Landing


def test_numbers_stay_while_as_many_steps_are_under_way_as_ever_are() -> None:
    landing, values = Landing(3, torch.device("cpu")), torch.zeros(3, 2)
    brought = []
    for step in range(NUM_IN_FLIGHT + 2):
        values[:] = step
        brought.append(landing.bring(values[: 1 + step % 3]))
        for age, pending in enumerate(reversed(brought[-NUM_IN_FLIGHT:])):
            number = step - age
            assert pending.numbers().tolist() == [[number, number]] * (1 + number % 3)
            assert pending.rows() == pending.numbers().tolist()

import random

from ocr.training.structure.line_noise import found
from ocr.training.structure.placed_lines import LinePage, frame


def test_rules_of_a_form_are_seen_whole_torn_with_gaps_or_hardly_at_all() -> None:
    boxes = [(x, y, x + 200.0, y + 40.0) for x in (50.0, 250.0) for y in range(50, 650, 40)]
    rules = [rule for box in boxes for rule in frame(box, "tb")]
    page = LinePage.of("boxes", (500.0, 700.0), (), rules)
    whole = sum(x1 - x0 for x0, _, x1, _ in page.rules)
    shares, gaps = list[float](), 0
    for seed in range(80):
        seen = [(x0, y, x1) for x0, y, x1, _ in found(random.Random(seed), page).rules if x1 - x0 > 30]
        shares.append(sum(x1 - x0 for x0, _, x1 in seen) / whole)
        ends = {(round(x1), round(y)) for _, y, x1 in seen}
        gaps += any(x0 > 55 and (round(x0), round(y)) not in ends for x0, y, _ in seen)
    assert sum(share > 0.97 for share in shares) > 30
    assert sum(0 < share < 0.6 for share in shares) > 3
    assert gaps > 5

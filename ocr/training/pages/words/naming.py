"""Names made at random: short ones, and many that differ little."""

import random
import string

COMMANDS = ["\\", "--", "", "get_", "x.", "@", "No. ", "A-", "is", "Item", "fig:"]


def stem(rng: random.Random) -> str:
    """Returns two to seven lower-case letters."""
    return "".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, 7)))


def alike(rng: random.Random, count: int) -> list[str]:
    """Returns names that differ little: with a common start or a common end."""
    head, stems = rng.choice(COMMANDS), [stem(rng) for _ in range(rng.randint(2, 6))]
    tails = ["", "s", "Color", "_at", *(stem(rng)[:3] for _ in range(3))]
    if rng.random() < 0.3:
        return [f"{head}{stems[0]}{number}" for number in range(count)]
    return [
        f"{head}{rng.choice(stems)}{rng.choice(['', '', *stems])}{rng.choice(tails)}" for _ in range(count)
    ]

"""Decides how many tokens to draft for a row: as many as pay, given how often its draft was right."""

MOST_DRAFTED = 32
_MEMORY = 0.9
_PROBE_EVERY = 16


class Pace:
    """Tracks how often one row's drafts are accepted, and from that sets the length of the next.

    token_cost: what a drafted token costs, as a share of a row's step without drafts.
    The chance p that a drafted token is right, given that those before it were, is taken from the row's last ten steps
    or so. A draft of k tokens then yields (1 - p^(k+1)) / (1 - p) tokens at a cost of 1 + k token_cost; the best k is
    asked for. A draft that does not pay is asked for one token in every 16th step, in case it has become right again.
    """

    def __init__(self, token_cost: float) -> None:
        self._token_cost = token_cost
        self._right, self._wrong = 3.0, 1.0
        self._steps_without = 0

    def limit(self) -> int:
        """Returns how many tokens to draft in the next step."""
        chance = min(self._right / (self._right + self._wrong), 0.999)
        best, best_rate, expected, reached = 0, 1.0, 1.0, 1.0
        for count in range(1, MOST_DRAFTED + 1):
            reached *= chance
            expected += reached
            rate = expected / (1 + count * self._token_cost)
            if rate > best_rate:
                best, best_rate = count, rate
        self._steps_without = 0 if best else self._steps_without + 1
        return best or int(self._steps_without % _PROBE_EVERY == 0)

    def record(self, drafted: int, accepted: int) -> None:
        """Records how many of the drafted tokens were accepted."""
        if drafted:
            self._right = _MEMORY * self._right + accepted
            self._wrong = _MEMORY * self._wrong + (accepted < drafted)

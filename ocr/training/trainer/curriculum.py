"""The curriculum: what is drawn, as the share of a leg's time goes from 0 to 1."""

from ocr.training.sampling_pages.loader import Mix


def first_leg(share: float) -> Mix:
    """From nothing: lines, then dense tiles, then pages."""
    if share < 0.015:
        return Mix(tile=1.0, page=0.0, whole=0.0, short=0.8)
    if share < 0.08:
        return Mix(tile=1.0, page=0.0, whole=0.0, short=0.3)
    if share < 0.16:
        return Mix(tile=0.85, page=0.0, whole=0.15, short=0.1)
    if share < 0.28:
        return Mix(tile=0.40, page=0.50, whole=0.10, short=0.1, real=0.25)
    return Mix(tile=0.15, page=0.77, whole=0.08, short=0.1, real=0.35)


def further_leg(share: float) -> Mix:
    """From weights that read: mostly pages, half of them real, some to be written as markdown with boxes."""
    return Mix(tile=0.08, page=0.85, whole=0.07, short=0.15, real=0.5, grounded=0.15)


def paper_leg(share: float) -> Mix:
    """From weights that read manuals: composed pages of every kind above all, fewer real ones."""
    return Mix(tile=0.06, page=0.86, whole=0.08, short=0.15, real=0.25, empty=0.02, grounded=0.06)


LEGS = {"first": first_leg, "further": further_leg, "paper": paper_leg}

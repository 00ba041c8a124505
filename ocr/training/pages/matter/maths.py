"""Formulas as running text and on lines of their own: letters, operators, subscripts and superscripts."""

import random

from ocr.training.pages.matter.page_writer import Writer

_GREEK = "αβγδεζηθικλμνξπρστφχψωΓΔΘΛΞΠΣΦΨΩ"
_LETTERS = "abcdfghijkmnpqrstuvwxyzABCDEFGHKLMNPQRSTVXYZ"
_RELATIONS = ["=", "=", "=", "≤", "≥", "<", ">", "≠", "≈", "∈", "→", "⊂", "≡", "∼", ":="]
_OPERATORS = ["+", "−", "±", "×", "·", "/", "∘", "∪", "∩", "⊕"]
_FUNCTIONS = ["sin", "cos", "log", "exp", "max", "min", "lim", "det", "ln"]
_ESCAPES = {"<": "&lt;", ">": "&gt;"}


def _symbol(rng: random.Random) -> str:
    if rng.random() < 0.25:
        return rng.choice(_GREEK)
    letter = rng.choice(_LETTERS)
    return f"<i>{letter}</i>" if rng.random() < 0.8 else letter


def _index(rng: random.Random) -> str:
    draw = rng.random()
    if draw < 0.45:
        return str(rng.randint(0, 12))
    if draw < 0.8:
        return rng.choice("ijknmt")
    return f"{rng.choice('ijknmt')}{rng.choice('+−')}{rng.randint(1, 3)}"


def _term(rng: random.Random) -> str:
    draw = rng.random()
    if draw < 0.22:
        return str(rng.choice([rng.randint(0, 9), rng.randint(10, 999), rng.randint(1, 99) / 10]))
    if draw < 0.30:
        return f"{rng.choice(_FUNCTIONS)}({_symbol(rng)})"
    if draw < 0.37:
        return f"{_symbol(rng)}({_symbol(rng)})"
    if draw < 0.41:
        return f"√{_symbol(rng)}"
    if draw < 0.44:
        return "∞"
    term = _symbol(rng)
    if rng.random() < 0.35:
        term += f"<sub>{_index(rng)}</sub>"
    elif rng.random() < 0.4:
        term += f"<sup>{_index(rng)}</sup>"
    return term


def _side(rng: random.Random) -> str:
    parts = [_term(rng)]
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        parts += [rng.choice(_OPERATORS), _term(rng)]
    side = " ".join(parts)
    draw = rng.random()
    if draw < 0.07:
        return f"∑<sub>{rng.choice('ijk')}={rng.randint(0, 1)}</sub><sup>{rng.choice('nmN')}</sup> {side}"
    if draw < 0.11:
        return f"∫ {side} <i>d{rng.choice('xyt')}</i>"
    if draw < 0.15:
        return f"({side})<sup>{_index(rng)}</sup>"
    if draw < 0.18:
        return f"∂{_symbol(rng)}/∂{_symbol(rng)}"
    return side


def formula(rng: random.Random) -> str:
    """Returns a short formula as markup."""
    draw = rng.random()
    if draw < 0.15:
        return _term(rng)
    relation = rng.choice(_RELATIONS)
    made = f"{_side(rng)} {_ESCAPES.get(relation, relation)} {_side(rng)}"
    if draw < 0.22:
        made = f"∀{_symbol(rng)} ∈ {rng.choice('ABSXV')}: {made}"
    return made


def display(w: Writer) -> str:
    """Returns one or two formulas on lines of their own, some with a number at the right."""
    rng, shown = w.rng, ""
    for _ in range(rng.choice([1, 1, 2])):
        made = formula(rng)
        if w.chance(0.5):
            number = f"({rng.choice(['', f'{rng.randint(1, 9)}.'])}{rng.randint(1, 60)})"
            shown += (
                f'<table class=plain style="width:100%"><tr><td style="text-align:center">{made}</td>'
                f'<td style="text-align:right">{number}</td></tr></table>'
            )
        else:
            shown += f"<p class=centre>{made}</p>"
    return shown

"""Flags pages in a script that the model was not trained for, whose readings are not text. Torch-free."""

from pipeline.documents.script import foreign_script
from pipeline.types import EmbeddedPage, PageResult, ReadyPage

# ISO 15924 code for an undetermined script.
UNDETERMINED = "Zyyy"
# The shipped model reads Cyrillic, Greek, Armenian, Georgian, Arabic, Devanagari, Thai, Chinese, Japanese and Korean
# with a confidence of 0.03 to 0.3. Of 303 images of pages in Latin script, a third of them worn like scans, none has
# less than 0.6.
_CONFIDENCE = 0.4
# Fewer characters, such as a drawing's labels, are too few to judge.
_ENOUGH_MARKS = 200


def script_flag(ready: ReadyPage, result: PageResult, known: frozenset[str] | None) -> str | None:
    """Returns the ISO 15924 code of the page's script if the model cannot read it, None if it can.

    known: the model's scripts, from pipeline.documents.script.known_scripts; None for a model that reads any script,
    which flags nothing. The page's text layer decides where it has one that can be trusted. Any other page whose
    reading cannot be believed at all is Zyyy: such pages are mostly in an unknown script or handwritten. A page whose
    text comes from its text layer was not read and gets no flag.
    """
    if known is None or isinstance(ready, EmbeddedPage) or result.source == "layer":
        return None
    foreign = foreign_script(ready.script, known)
    if foreign is not None:
        return foreign
    says_known = ready.script is not None and (ready.layer is None or ready.layer.is_trustworthy)
    return UNDETERMINED if not says_known and _is_unread(result) else None


def _is_unread(result: PageResult) -> bool:
    if result.confidence is None or result.parsed is None:
        return False
    num_marks = len("".join(result.parsed.text.split()))
    return num_marks >= _ENOUGH_MARKS and result.confidence < _CONFIDENCE

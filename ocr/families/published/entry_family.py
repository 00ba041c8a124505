"""Families whose models' prompts, formats, n-grams and licences are entries of models.yaml. Torch-free."""

from ocr.families.family import Family, Kind, ModelFacts
from ocr.families.published.known_model import known_model


class EntryFamily(Family):
    has_entries = True

    def defaults(self, facts: ModelFacts) -> str:
        """Returns what the table decides of a reading but for n-grams, which the configuration has."""
        known = known_model(facts).model
        settings = (known.prompts["page"], known.prompting, dict(known.template), dict(known.processor))
        return repr((*settings, known.stop, known.longest_px, known.output_format))

    def restriction(self, facts: ModelFacts) -> str | None:
        licence = known_model(facts).model.licence
        forbids = licence.commercial != "allowed"
        return f"{licence.name}: commercial use is {licence.commercial}" if forbids else None

    def entry(self, facts: ModelFacts) -> str:
        known = known_model(facts)
        return f"{known.model.name}, {known.reason}"

    def ngram(self, kind: Kind, facts: ModelFacts | None = None) -> tuple[int, int]:
        found = None if facts is None else known_model(facts).model.ngram
        return (0, 1) if found is None else (found.size, found.window)

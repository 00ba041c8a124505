"""The steps that bring an older database's tables to the schema of today. One that has landed is never edited.

A test holds their hashes. Our views and triggers are not there while a step runs: after the last one they are made anew
from storage.schema, and so is the index where a step has dropped it.

- 6: the status doubtful, and doubt. SQLite changes no CHECK of a table that is there, so the attempts are copied into a
  new one, their texts last.
- 7: boxes of words, and corrections, which count as a page's text.
- 8: a first reading that is deleted once a better one is there made SQLite look through all pages.
- 9: a file that has not changed is known without being opened.
- 10: words that line ends cut, and those of Chinese and Japanese, are found (storage.strings.search_lines).
"""

from pathlib import Path

# Version -> the step that leads to the next one.
STEPS = {
    int(step.stem): step.read_text(encoding="utf-8")
    for step in Path(__file__).with_name("steps").glob("*.sql")
}
OLDEST = min(STEPS)

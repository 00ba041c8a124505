"""The steps that bring an older database's tables to the schema of today. One that has landed is never edited.

A test holds their hashes. Our views and triggers are not there while a step runs: after the last one they are made anew
from storage.schema, and so is the index where a step has dropped it.
"""

# The status doubtful, and doubt. SQLite changes no CHECK of a table that is there, so the attempts are copied into a
# new one, their texts last.
_DOUBT = """
PRAGMA legacy_alter_table = ON;  -- a user's views may name the table, which is gone for a moment
CREATE TABLE attempts_anew (
    id INTEGER PRIMARY KEY,
    page_id INTEGER NOT NULL REFERENCES pages(id),
    run_id INTEGER NOT NULL REFERENCES runs(id),
    settings_hash TEXT NOT NULL,
    status TEXT NOT NULL CHECK (
        status IN ('ok', 'blank', 'doubtful', 'repeated', 'truncated', 'failed', 'embedded', 'quarantined')),
    error_stage TEXT,
    error_category TEXT,
    error_message TEXT,
    finished_at TEXT NOT NULL,
    seconds REAL NOT NULL,               -- the page's shares of all stages before store
    confidence REAL,
    num_tokens INTEGER NOT NULL,
    width_px INTEGER,
    height_px INTEGER,
    dpi REAL,
    rung TEXT,
    source TEXT NOT NULL DEFAULT 'ocr' CHECK (source IN ('ocr', 'layer')),
    rotation_deg INTEGER NOT NULL DEFAULT 0 CHECK (rotation_deg IN (0, 90, 180, 270)),
    layer_agreement REAL,
    script TEXT,
    doubt TEXT,
    text_sha256 TEXT,
    content_sha256 TEXT,
    text TEXT,                           -- last: reading the columns above touches no overflow page
    markdown TEXT,
    CHECK ((text IS NULL) = (error_category IS NOT NULL)),
    CHECK (status <> 'doubtful' OR doubt IS NOT NULL)
);
INSERT INTO attempts_anew (
    id, page_id, run_id, settings_hash, status, error_stage, error_category, error_message, finished_at, seconds,
    confidence, num_tokens, width_px, height_px, dpi, rung, source, rotation_deg, layer_agreement, script, text_sha256,
    content_sha256, text, markdown)
SELECT
    id, page_id, run_id, settings_hash, status, error_stage, error_category, error_message, finished_at, seconds,
    confidence, num_tokens, width_px, height_px, dpi, rung, source, rotation_deg, layer_agreement, script, text_sha256,
    content_sha256, text, markdown
FROM attempts;
DROP TABLE attempts;
ALTER TABLE attempts_anew RENAME TO attempts;
CREATE INDEX attempts_page ON attempts(page_id, settings_hash, status);
CREATE INDEX attempts_run ON attempts(run_id, finished_at);
PRAGMA legacy_alter_table = OFF;
"""

# Boxes of words, and corrections, which count as a page's text.
_WORDS_AND_CORRECTIONS = """
ALTER TABLE attempts ADD COLUMN words BLOB;
ALTER TABLE pages ADD COLUMN correction_id INTEGER REFERENCES corrections(id);
CREATE TABLE corrections (
    id INTEGER PRIMARY KEY,
    page_id INTEGER NOT NULL REFERENCES pages(id) ON DELETE CASCADE,
    made_at TEXT NOT NULL,
    made_by TEXT NOT NULL,
    read_text TEXT NOT NULL,
    text TEXT NOT NULL,
    markdown TEXT NOT NULL
);
CREATE INDEX corrections_page ON corrections(page_id);
"""

# A first reading that is deleted once a better one is there made SQLite look through all pages.
_ATTEMPTS_OF_PAGES = """
CREATE INDEX pages_attempt ON pages(current_attempt_id);
"""

# A file that has not changed is known without being opened.
_STAMPS = """
ALTER TABLE files ADD COLUMN stamp TEXT;
"""

# Words that line ends cut, and those of Chinese and Japanese, are found. The function is storage.strings.search_lines.
_SEARCH_LINES = """
DROP TABLE page_search;
ALTER TABLE attempts ADD COLUMN search_lines TEXT;
ALTER TABLE corrections ADD COLUMN search_lines TEXT;
UPDATE attempts SET search_lines = search_lines(text) WHERE search_lines(text) IS NOT NULL;
UPDATE corrections SET search_lines = search_lines(text) WHERE search_lines(text) IS NOT NULL;
"""

# Version -> the step that leads to the next one.
STEPS = {6: _DOUBT, 7: _WORDS_AND_CORRECTIONS, 8: _ATTEMPTS_OF_PAGES, 9: _STAMPS, 10: _SEARCH_LINES}
OLDEST = min(STEPS)

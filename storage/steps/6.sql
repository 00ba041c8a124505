
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

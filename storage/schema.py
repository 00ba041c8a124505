"""The schema of a new database, and the steps that bring an older one to it.

    files (path) -> documents (sha256) -> pages (page_index) -> attempts (settings_hash, run)
    attempts -> blocks, timings; runs; in_flight (page, run); page_search (FTS5 over the current attempts)

PRAGMA user_version holds the version. A new version changes the schema here, and adds the step that leads from the one
before to the same; a step that has landed is never edited (a test holds its hash).
"""

APPLICATION_ID = 0x6F637262  # "ocrb", in every file this program makes
VERSION = 7

_TABLES = """
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    started_at TEXT NOT NULL,            -- UTC, ISO 8601, as all times here
    finished_at TEXT,
    seconds REAL,                        -- by a monotonic clock; null until finished
    state TEXT NOT NULL CHECK (state IN ('running', 'finished', 'interrupted')),
    exit_code INTEGER,
    settings_hash TEXT NOT NULL,
    model TEXT NOT NULL,
    weights_sha256 TEXT NOT NULL,
    config TEXT NOT NULL,                -- JSON, secrets masked
    versions TEXT NOT NULL,              -- JSON
    counts TEXT,                         -- JSON, what the run itself counted
    encoder TEXT,                        -- JSON, statistics of the encoder's graphs; null without a model
    flow TEXT                            -- JSON, how busy the stages were
);
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    sha256 TEXT UNIQUE,                  -- null: a file that was never readable, which shares with none
    status TEXT NOT NULL CHECK (status IN ('ok', 'skipped', 'encrypted', 'broken', 'left_out')),
    reason TEXT,
    kind TEXT,
    size_bytes INTEGER NOT NULL,
    num_pages INTEGER NOT NULL           -- in the document, and of its rows in pages
);
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    document_id INTEGER NOT NULL REFERENCES documents(id),
    status TEXT NOT NULL CHECK (status IN ('ok', 'skipped', 'encrypted', 'broken', 'left_out', 'missing')),
    reason TEXT,
    first_run_id INTEGER NOT NULL REFERENCES runs(id),
    last_run_id INTEGER NOT NULL REFERENCES runs(id)    -- the last one that found it
);
CREATE INDEX files_document ON files(document_id);
CREATE TABLE pages (
    id INTEGER PRIMARY KEY,
    document_id INTEGER NOT NULL REFERENCES documents(id),
    page_index INTEGER NOT NULL CHECK (page_index >= 0),
    status TEXT NOT NULL DEFAULT 'pending',             -- that of the current attempt
    current_attempt_id INTEGER REFERENCES attempts(id),
    asked INTEGER NOT NULL DEFAULT 0 CHECK (asked IN (0, 1)),   -- by a run; the others are listed nowhere
    UNIQUE (document_id, page_index)
);
CREATE TABLE attempts (
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
    rung TEXT,                           -- the ladder's step that made it; null for the first reading
    source TEXT NOT NULL DEFAULT 'ocr' CHECK (source IN ('ocr', 'layer')),    -- of the text
    rotation_deg INTEGER NOT NULL DEFAULT 0 CHECK (rotation_deg IN (0, 90, 180, 270)),  -- clockwise, to be upright
    layer_agreement REAL,                -- 0..1, of text and text layer
    script TEXT,                         -- ISO 15924, where the model was not trained for it
    doubt TEXT,                          -- why the text may be wrong or incomplete
    text_sha256 TEXT,                    -- of its UTF-8
    content_sha256 TEXT,                 -- of text, markdown and blocks: storage.strings.content
    text TEXT,                           -- last: reading the columns above touches no overflow page
    markdown TEXT,
    CHECK ((text IS NULL) = (error_category IS NOT NULL)),
    CHECK (status <> 'doubtful' OR doubt IS NOT NULL)
);
CREATE INDEX attempts_page ON attempts(page_id, settings_hash, status);
CREATE INDEX attempts_run ON attempts(run_id, finished_at);
CREATE TABLE blocks (
    attempt_id INTEGER NOT NULL REFERENCES attempts(id) ON DELETE CASCADE,
    block_index INTEGER NOT NULL,        -- reading order
    label TEXT NOT NULL,
    x0_px INTEGER, y0_px INTEGER, x1_px INTEGER, y1_px INTEGER,
    text TEXT NOT NULL,
    confidence REAL,
    PRIMARY KEY (attempt_id, block_index)
);
CREATE TABLE timings (
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES runs(id),
    attempt_id INTEGER NOT NULL REFERENCES attempts(id) ON DELETE CASCADE,
    stage TEXT NOT NULL,
    path_use TEXT CHECK (path_use IN ('hit', 'miss', 'eager')),
    share_s REAL NOT NULL,               -- the page's share of the batch
    wall_s REAL NOT NULL,                -- the whole batch
    batch_size INTEGER NOT NULL
);
CREATE INDEX timings_attempt ON timings(attempt_id);
CREATE TABLE superseded (
    path TEXT NOT NULL,
    document_id INTEGER NOT NULL REFERENCES documents(id),
    run_id INTEGER NOT NULL REFERENCES runs(id),        -- the one that found other content there
    PRIMARY KEY (path, document_id)
);
-- The pages that the model has, marked before it is given them: storage.recovery.in_flight says what for.
CREATE TABLE in_flight (
    page_id INTEGER NOT NULL REFERENCES pages(id),
    run_id INTEGER NOT NULL REFERENCES runs(id),
    alone INTEGER NOT NULL CHECK (alone IN (0, 1)),     -- whether the model had no other
    PRIMARY KEY (page_id, run_id)
) WITHOUT ROWID;
"""

# A vanished file is listed as long as no present file has its content: a moved file is not listed twice,
# and a file taken out of an inbox keeps its text.
_VIEWS = """
CREATE VIEW listed_files AS
    SELECT f.* FROM files f
    WHERE f.status <> 'missing' OR NOT EXISTS (
        SELECT 1 FROM files other WHERE other.document_id = f.document_id AND other.status <> 'missing');
CREATE VIEW results AS
    SELECT f.path, d.sha256, p.page_index, p.page_index + 1 AS page, p.status, a.text, a.markdown,
        a.confidence, a.num_tokens, a.seconds, a.width_px, a.height_px, a.dpi,
        a.error_stage, a.error_category, a.error_message, a.settings_hash,
        a.text_sha256, a.content_sha256, a.rung, a.source, a.rotation_deg, a.layer_agreement, a.script, a.doubt,
        a.run_id, a.finished_at,
        f.id AS file_id, d.id AS document_id, p.id AS page_id, a.id AS attempt_id
    FROM listed_files f
    JOIN documents d ON d.id = f.document_id
    JOIN pages p ON p.document_id = d.id AND p.asked
    LEFT JOIN attempts a ON a.id = p.current_attempt_id;
CREATE VIEW superseded_results AS
    SELECT s.path, d.sha256, p.page_index, p.page_index + 1 AS page, p.status, a.text, a.markdown,
        a.confidence, a.num_tokens, a.seconds, a.width_px, a.height_px, a.dpi,
        a.error_stage, a.error_category, a.error_message, a.settings_hash,
        a.text_sha256, a.content_sha256, a.rung, a.source, a.rotation_deg, a.layer_agreement, a.script, a.doubt,
        a.run_id, a.finished_at, s.document_id, p.id AS page_id, a.id AS attempt_id
    FROM superseded s
    JOIN documents d ON d.id = s.document_id
    JOIN pages p ON p.document_id = d.id AND p.asked
    LEFT JOIN attempts a ON a.id = p.current_attempt_id;
CREATE VIEW current_text AS
    SELECT p.id AS page_id, a.text AS text FROM pages p JOIN attempts a ON a.id = p.current_attempt_id;
"""

# External content: the index holds no second copy of the text. Triggers follow the page's pointer, so the
# index cannot fall out of step whoever writes. 'delete' must be given the very text that was indexed.
_SEARCH = """
CREATE VIRTUAL TABLE page_search USING fts5(
    text, content='current_text', content_rowid='page_id', tokenize='unicode61 remove_diacritics 2');
CREATE TRIGGER pages_pointed AFTER UPDATE OF current_attempt_id ON pages
WHEN old.current_attempt_id IS NOT new.current_attempt_id BEGIN
    INSERT INTO page_search(page_search, rowid, text)
        SELECT 'delete', old.id, text FROM attempts WHERE id = old.current_attempt_id;
    INSERT INTO page_search(rowid, text)
        SELECT new.id, text FROM attempts WHERE id = new.current_attempt_id;
END;
CREATE TRIGGER pages_inserted AFTER INSERT ON pages WHEN new.current_attempt_id IS NOT NULL BEGIN
    INSERT INTO page_search(rowid, text)
        SELECT new.id, text FROM attempts WHERE id = new.current_attempt_id;
END;
CREATE TRIGGER pages_deleted AFTER DELETE ON pages WHEN old.current_attempt_id IS NOT NULL BEGIN
    INSERT INTO page_search(page_search, rowid, text)
        SELECT 'delete', old.id, text FROM attempts WHERE id = old.current_attempt_id;
END;
CREATE TRIGGER attempts_rewritten AFTER UPDATE OF text ON attempts BEGIN
    INSERT INTO page_search(page_search, rowid, text)
        SELECT 'delete', id, old.text FROM pages WHERE current_attempt_id = old.id;
    INSERT INTO page_search(rowid, text)
        SELECT id, new.text FROM pages WHERE current_attempt_id = new.id;
END;
"""

SCHEMA = _TABLES + _VIEWS + _SEARCH

# The status doubtful, and doubt. SQLite changes no CHECK of a table that is there, so the attempts are copied into a
# new one, their texts last.
_DOUBT = """
PRAGMA legacy_alter_table = ON;  -- views and triggers name the table, which is gone for a moment
DROP VIEW results;
DROP VIEW superseded_results;
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
CREATE TRIGGER attempts_rewritten AFTER UPDATE OF text ON attempts BEGIN
    INSERT INTO page_search(page_search, rowid, text)
        SELECT 'delete', id, old.text FROM pages WHERE current_attempt_id = old.id;
    INSERT INTO page_search(rowid, text)
        SELECT id, new.text FROM pages WHERE current_attempt_id = new.id;
END;
CREATE VIEW results AS
    SELECT f.path, d.sha256, p.page_index, p.page_index + 1 AS page, p.status, a.text, a.markdown,
        a.confidence, a.num_tokens, a.seconds, a.width_px, a.height_px, a.dpi,
        a.error_stage, a.error_category, a.error_message, a.settings_hash,
        a.text_sha256, a.content_sha256, a.rung, a.source, a.rotation_deg, a.layer_agreement, a.script, a.doubt,
        a.run_id, a.finished_at,
        f.id AS file_id, d.id AS document_id, p.id AS page_id, a.id AS attempt_id
    FROM listed_files f
    JOIN documents d ON d.id = f.document_id
    JOIN pages p ON p.document_id = d.id AND p.asked
    LEFT JOIN attempts a ON a.id = p.current_attempt_id;
CREATE VIEW superseded_results AS
    SELECT s.path, d.sha256, p.page_index, p.page_index + 1 AS page, p.status, a.text, a.markdown,
        a.confidence, a.num_tokens, a.seconds, a.width_px, a.height_px, a.dpi,
        a.error_stage, a.error_category, a.error_message, a.settings_hash,
        a.text_sha256, a.content_sha256, a.rung, a.source, a.rotation_deg, a.layer_agreement, a.script, a.doubt,
        a.run_id, a.finished_at, s.document_id, p.id AS page_id, a.id AS attempt_id
    FROM superseded s
    JOIN documents d ON d.id = s.document_id
    JOIN pages p ON p.document_id = d.id AND p.asked
    LEFT JOIN attempts a ON a.id = p.current_attempt_id;
PRAGMA legacy_alter_table = OFF;
"""

# Version -> the step that leads to the next one.
STEPS = {6: _DOUBT}
OLDEST = min(STEPS)

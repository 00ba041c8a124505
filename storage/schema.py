"""The schema of a new database. storage.schema_steps brings an older one to it.

    files (path) -> documents (sha256) -> pages (page_index) -> attempts (settings_hash, run)
    attempts -> blocks, timings; runs; in_flight (page, run); page_search (FTS5 over the current texts)
    corrections (page): texts that people wrote, beside what was read; a page points at the one that counts

PRAGMA user_version holds the version. A new version changes the schema here; one that changes tables adds the step that
leads from the one before to the same. Views and triggers are made anew whenever a database is brought up to date; the
index only where a step has dropped it.
"""

APPLICATION_ID = 0x6F637262  # "ocrb", in every file this program makes
VERSION = 11

TABLES = """
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
    last_run_id INTEGER NOT NULL REFERENCES runs(id),   -- the last one that found it
    stamp TEXT                           -- the file's state when its content was looked into; null: look again
);
CREATE INDEX files_document ON files(document_id);
CREATE TABLE pages (
    id INTEGER PRIMARY KEY,
    document_id INTEGER NOT NULL REFERENCES documents(id),
    page_index INTEGER NOT NULL CHECK (page_index >= 0),
    status TEXT NOT NULL DEFAULT 'pending',             -- that of the current attempt
    current_attempt_id INTEGER REFERENCES attempts(id),
    asked INTEGER NOT NULL DEFAULT 0 CHECK (asked IN (0, 1)),   -- by a run; the others are listed nowhere
    correction_id INTEGER REFERENCES corrections(id),           -- whose text counts; null for what was read
    UNIQUE (document_id, page_index)
);
-- When an attempt is deleted, SQLite looks for a page that points at it; also for the trigger attempts_rewritten.
CREATE INDEX pages_attempt ON pages(current_attempt_id);
CREATE TABLE corrections (
    id INTEGER PRIMARY KEY,
    page_id INTEGER NOT NULL REFERENCES pages(id) ON DELETE CASCADE,
    made_at TEXT NOT NULL,
    made_by TEXT NOT NULL,
    read_text TEXT NOT NULL,             -- as read, when it was corrected
    text TEXT NOT NULL,
    markdown TEXT NOT NULL,
    search_lines TEXT                    -- as of attempts
);
CREATE INDEX corrections_page ON corrections(page_id);
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
    words BLOB,                          -- boxes of the words of the text as read: storage.words
    search_lines TEXT,                   -- lines with their cut words whole: storage.strings.search_lines
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
# and a file taken out of an inbox keeps its text. A page's text is the correction's, where there is one.
_RESULTS = """
CREATE VIEW {name} AS
    SELECT {file}.path, d.sha256, p.page_index, p.page_index + 1 AS page, p.status,
        coalesce(c.text, a.text) AS text, coalesce(c.markdown, a.markdown) AS markdown,
        a.confidence, a.num_tokens, a.seconds, a.width_px, a.height_px, a.dpi,
        a.error_stage, a.error_category, a.error_message, a.settings_hash,
        a.text_sha256, a.content_sha256, a.rung, a.source, a.rotation_deg, a.layer_agreement, a.script, a.doubt,
        a.run_id, a.finished_at, {ids}, p.id AS page_id, a.id AS attempt_id,
        c.made_at AS corrected_at, c.made_by AS corrected_by
    FROM {table} {file}
    JOIN documents d ON d.id = {file}.document_id
    JOIN pages p ON p.document_id = d.id AND p.asked
    LEFT JOIN attempts a ON a.id = p.current_attempt_id
    LEFT JOIN corrections c ON c.id = p.correction_id;
"""
VIEWS = f"""
CREATE VIEW listed_files AS
    SELECT f.* FROM files f
    WHERE f.status <> 'missing' OR NOT EXISTS (
        SELECT 1 FROM files other WHERE other.document_id = f.document_id AND other.status <> 'missing');
{_RESULTS.format(name="results", table="listed_files", file="f", ids="f.id AS file_id, d.id AS document_id")}
{_RESULTS.format(name="superseded_results", table="superseded", file="s", ids="s.document_id")}
CREATE VIEW current_text AS
    SELECT p.id AS page_id, coalesce(c.text, a.text) AS text,
        iif(c.id IS NULL, a.search_lines, c.search_lines) AS search_lines
    FROM pages p JOIN attempts a ON a.id = p.current_attempt_id LEFT JOIN corrections c ON c.id = p.correction_id;
-- For people and their tools: what was read, how long it took, what failed.
CREATE VIEW page_text AS
    SELECT path, page, status, confidence, doubt, text, corrected_by, finished_at, run_id, page_id FROM results;
CREATE VIEW stage_summary AS
    SELECT run_id, stage, count(DISTINCT attempt_id) AS num_pages, sum(share_s) AS total_s,
        sum(share_s) / count(DISTINCT attempt_id) AS mean_s, max(share_s) AS max_s,
        sum(share_s) / sum(sum(share_s)) OVER (PARTITION BY run_id) AS share
    FROM timings GROUP BY run_id, stage;
CREATE VIEW failures AS
    SELECT path, page, status, error_stage AS stage, error_category AS category,
        coalesce(error_message, doubt) AS reason, run_id, finished_at
    FROM results WHERE status NOT IN ('ok', 'blank', 'embedded', 'pending')
    UNION ALL
    SELECT f.path, NULL, f.status, 'discover', NULL, coalesce(f.reason, d.reason), f.last_run_id, NULL
    FROM listed_files f JOIN documents d ON d.id = f.document_id WHERE f.status IN ('broken', 'encrypted');
"""

# External content: the index holds no second copy of the text.
INDEX = """
CREATE VIRTUAL TABLE page_search USING fts5(
    text, search_lines, content='current_text', content_rowid='page_id', tokenize='unicode61 remove_diacritics 2');
INSERT INTO page_search(page_search) VALUES ('rebuild');
"""

# They follow the page's pointers, so the index cannot fall out of step whoever writes. 'delete' must be given the very
# text that was indexed.
_TAKE_OUT = """
    INSERT INTO page_search(page_search, rowid, text, search_lines)
        SELECT 'delete', old.id, coalesce(c.text, a.text), iif(c.id IS NULL, a.search_lines, c.search_lines)
        FROM attempts a LEFT JOIN corrections c ON c.id = old.correction_id WHERE a.id = old.current_attempt_id;
"""
_PUT_IN = """
    INSERT INTO page_search(rowid, text, search_lines)
        SELECT new.id, coalesce(c.text, a.text), iif(c.id IS NULL, a.search_lines, c.search_lines)
        FROM attempts a LEFT JOIN corrections c ON c.id = new.correction_id WHERE a.id = new.current_attempt_id;
"""
TRIGGERS = f"""
CREATE TRIGGER pages_pointed AFTER UPDATE OF current_attempt_id, correction_id ON pages
WHEN old.current_attempt_id IS NOT new.current_attempt_id OR old.correction_id IS NOT new.correction_id BEGIN
{_TAKE_OUT} {_PUT_IN}
END;
CREATE TRIGGER pages_inserted AFTER INSERT ON pages WHEN new.current_attempt_id IS NOT NULL BEGIN
{_PUT_IN}
END;
CREATE TRIGGER pages_deleted BEFORE DELETE ON pages WHEN old.current_attempt_id IS NOT NULL BEGIN
{_TAKE_OUT}
END;
CREATE TRIGGER attempts_rewritten AFTER UPDATE OF text, search_lines ON attempts BEGIN
    INSERT INTO page_search(page_search, rowid, text, search_lines)
        SELECT 'delete', id, old.text, old.search_lines FROM pages
        WHERE current_attempt_id = old.id AND correction_id IS NULL;
    INSERT INTO page_search(rowid, text, search_lines)
        SELECT id, new.text, new.search_lines FROM pages
        WHERE current_attempt_id = new.id AND correction_id IS NULL;
END;
CREATE TRIGGER corrections_rewritten BEFORE UPDATE OF text, search_lines ON corrections BEGIN
    SELECT raise(ABORT, 'a correction is not rewritten: add another, and point the page at it');
END;
"""

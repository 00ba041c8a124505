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
    content_sha256 TEXT,                 -- of text, markdown and blocks: storage.strings.text
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

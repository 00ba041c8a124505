"""The schema, as migrations. Each commits together with its record and with the version in the file.

    files (path) -> documents (sha256) -> pages (page_index) -> attempts (settings_hash, run)
    attempts -> blocks, timings; runs; in_flight (page, run); page_search (FTS5 over the current attempts)

A landed migration never changes: a new version is a new function at the end.
"""

from sqlite_utils import Database, Migrations

from storage.strings.content import stored_content_sha256
from storage.strings.text import text_sha256

APPLICATION_ID = 0x6F637262  # "ocrb", in every file this program makes


def v001_pages(db: Database) -> None:
    """Files, documents, pages, attempts and everything about them."""
    db.executescript(_TABLES)
    db.executescript(_VIEWS)
    db.executescript(_SEARCH)


def v002_block_confidence(db: Database) -> None:
    """A confidence for every block; null for blocks stored before."""
    db.execute("ALTER TABLE blocks ADD COLUMN confidence REAL")


def v003_run_encoder(db: Database) -> None:
    """What the encoder's graphs did in a run, as JSON; null for runs before, and for those without a model."""
    db.execute("ALTER TABLE runs ADD COLUMN encoder TEXT")


def v004_run_flow(db: Database) -> None:
    """How busy the stages of a run were, as JSON; null for runs before."""
    db.execute("ALTER TABLE runs ADD COLUMN flow TEXT")


def v005_ledger(db: Database) -> None:
    """A row for every page of every document, what each attempt was made with, and what paths held before.

    text_sha256: of the text's UTF-8, null without one. content_sha256: of text, markdown and blocks as
    storage.strings.content writes them, null without any. Both are made for attempts stored before from what is there.
    rung: the step of the ladder that made the attempt, null for the first reading. source: what the text is from.
    rotation_deg: clockwise turn that made the page upright. layer_agreement: 0..1, how far text and text layer agree.
    script: ISO 15924 code of a script that the model was not trained for; null where there is none.
    pages.asked: whether a run has asked for the page; the others are pending, and are listed nowhere.
    """
    db.conn.create_function("sha256_of_text", 1, text_sha256, deterministic=True)
    db.executescript(_LEDGER)
    for (attempt,) in db.conn.execute("SELECT id FROM attempts WHERE text IS NOT NULL").fetchall():
        sql = "SELECT text, markdown FROM attempts WHERE id = ?"
        content = stored_content_sha256(db.conn, attempt, *db.conn.execute(sql, (attempt,)).fetchone())
        db.conn.execute("UPDATE attempts SET content_sha256 = ? WHERE id = ?", (content, attempt))


def v006_in_flight(db: Database) -> None:
    """The pages that the model has, marked before it is given them: storage.recovery.in_flight says what for.

    alone: whether the model had no other. Besides, what v005_ledger came to have only after some databases had been
    made by it: pages.asked and rows for all pages, content_sha256, and their part of the views.
    """
    db.executescript(_IN_FLIGHT)
    is_old = False
    if not _has_column(db, "pages", "asked"):
        is_old = True
        db.executescript(_ASKED)
    if not _has_column(db, "attempts", "content_sha256"):
        is_old = True
        db.execute("ALTER TABLE attempts ADD COLUMN content_sha256 TEXT")
        for (attempt,) in db.conn.execute("SELECT id FROM attempts WHERE text IS NOT NULL").fetchall():
            sql = "SELECT text, markdown FROM attempts WHERE id = ?"
            content = stored_content_sha256(db.conn, attempt, *db.conn.execute(sql, (attempt,)).fetchone())
            db.conn.execute("UPDATE attempts SET content_sha256 = ? WHERE id = ?", (content, attempt))
    if is_old:
        db.executescript("DROP VIEW results; DROP VIEW IF EXISTS superseded_results;" + _LEDGER_VIEWS)


def v007_doubt(db: Database) -> None:
    """The status doubtful, and doubt: why an attempt's text may be wrong or incomplete; null where nothing says so.

    SQLite changes no CHECK of a table that is there, so the attempts are copied into a new one, their texts last.
    """
    # Views and triggers name the table, which is gone for a moment.
    db.execute("PRAGMA legacy_alter_table = ON")
    try:
        db.executescript(_DOUBT)
    finally:
        db.execute("PRAGMA legacy_alter_table = OFF")


def _has_column(db: Database, table: str, column: str) -> bool:
    return any(row[1] == column for row in db.conn.execute(f"PRAGMA table_info({table})"))


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
    counts TEXT                          -- JSON, what the run itself counted
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
    UNIQUE (document_id, page_index)
);
CREATE TABLE attempts (
    id INTEGER PRIMARY KEY,
    page_id INTEGER NOT NULL REFERENCES pages(id),
    run_id INTEGER NOT NULL REFERENCES runs(id),
    settings_hash TEXT NOT NULL,
    status TEXT NOT NULL CHECK (
        status IN ('ok', 'blank', 'repeated', 'truncated', 'failed', 'embedded', 'quarantined')),
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
    text TEXT,                           -- last: reading the columns above touches no overflow page
    markdown TEXT,
    CHECK ((text IS NULL) = (error_category IS NOT NULL))
);
CREATE INDEX attempts_page ON attempts(page_id, settings_hash, status);
CREATE INDEX attempts_run ON attempts(run_id, finished_at);
CREATE TABLE blocks (
    attempt_id INTEGER NOT NULL REFERENCES attempts(id) ON DELETE CASCADE,
    block_index INTEGER NOT NULL,        -- reading order
    label TEXT NOT NULL,
    x0_px INTEGER, y0_px INTEGER, x1_px INTEGER, y1_px INTEGER,
    text TEXT NOT NULL,
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
"""

_LEDGER = """
ALTER TABLE attempts ADD COLUMN text_sha256 TEXT;
ALTER TABLE attempts ADD COLUMN content_sha256 TEXT;
ALTER TABLE attempts ADD COLUMN rung TEXT;
ALTER TABLE attempts ADD COLUMN source TEXT NOT NULL DEFAULT 'ocr' CHECK (source IN ('ocr', 'layer'));
ALTER TABLE attempts ADD COLUMN rotation_deg INTEGER NOT NULL DEFAULT 0
    CHECK (rotation_deg IN (0, 90, 180, 270));
ALTER TABLE attempts ADD COLUMN layer_agreement REAL;
ALTER TABLE attempts ADD COLUMN script TEXT;
UPDATE attempts SET text_sha256 = sha256_of_text(text) WHERE text IS NOT NULL;
CREATE TABLE superseded (
    path TEXT NOT NULL,
    document_id INTEGER NOT NULL REFERENCES documents(id),
    run_id INTEGER NOT NULL REFERENCES runs(id),        -- the one that found other content there
    PRIMARY KEY (path, document_id)
);
ALTER TABLE pages ADD COLUMN asked INTEGER NOT NULL DEFAULT 0 CHECK (asked IN (0, 1));
UPDATE pages SET asked = 1;
INSERT OR IGNORE INTO pages (document_id, page_index)
    WITH RECURSIVE counted (document_id, page_index, num_pages) AS (
        SELECT id, 0, num_pages FROM documents WHERE num_pages > 0 AND sha256 IS NOT NULL
        UNION ALL SELECT document_id, page_index + 1, num_pages FROM counted WHERE page_index + 1 < num_pages)
    SELECT document_id, page_index FROM counted;
DROP VIEW results;
CREATE VIEW results AS
    SELECT f.path, d.sha256, p.page_index, p.page_index + 1 AS page, p.status, a.text, a.markdown,
        a.confidence, a.num_tokens, a.seconds, a.width_px, a.height_px, a.dpi,
        a.error_stage, a.error_category, a.error_message, a.settings_hash,
        a.text_sha256, a.content_sha256, a.rung, a.source, a.rotation_deg, a.layer_agreement, a.script,
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
        a.text_sha256, a.content_sha256, a.rung, a.source, a.rotation_deg, a.layer_agreement, a.script,
        a.run_id, a.finished_at, s.document_id, p.id AS page_id, a.id AS attempt_id
    FROM superseded s
    JOIN documents d ON d.id = s.document_id
    JOIN pages p ON p.document_id = d.id AND p.asked
    LEFT JOIN attempts a ON a.id = p.current_attempt_id;
"""

# Its parts that some databases made by v005_ledger lack.
_ASKED = _LEDGER[_LEDGER.index("ALTER TABLE pages ADD COLUMN asked") : _LEDGER.index("DROP VIEW results;")]
_LEDGER_VIEWS = _LEDGER[_LEDGER.index("CREATE VIEW results") :]

_IN_FLIGHT = """
CREATE TABLE in_flight (
    page_id INTEGER NOT NULL REFERENCES pages(id),
    run_id INTEGER NOT NULL REFERENCES runs(id),
    alone INTEGER NOT NULL CHECK (alone IN (0, 1)),
    PRIMARY KEY (page_id, run_id)
) WITHOUT ROWID;
"""

_DOUBT = """
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
        f.id AS file_id, d.id AS document_id, p.id AS page_id, a.id AS attempt_id
    FROM listed_files f
    JOIN documents d ON d.id = f.document_id
    JOIN pages p ON p.document_id = d.id
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

_VERSIONS = (
    v001_pages,
    v002_block_confidence,
    v003_run_encoder,
    v004_run_flow,
    v005_ledger,
    v006_in_flight,
    v007_doubt,
)
NAMES = tuple(version.__name__ for version in _VERSIONS)  # the schema version is how many there are
migrations = Migrations("ocrbatch")
for _version in _VERSIONS:
    migrations()(_version)

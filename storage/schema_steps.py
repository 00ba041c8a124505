"""The steps that bring an older database to the schema of today. One that has landed is never edited.

A test holds their hashes.
"""

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

# Boxes of words, and corrections, which count as a page's text.
_WORDS_AND_CORRECTIONS = """
DROP VIEW results;
DROP VIEW superseded_results;
DROP TRIGGER pages_pointed;
DROP TRIGGER pages_inserted;
DROP TRIGGER pages_deleted;
DROP TRIGGER attempts_rewritten;
DROP VIEW current_text;
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
CREATE VIEW results AS
    SELECT f.path, d.sha256, p.page_index, p.page_index + 1 AS page, p.status,
        coalesce(c.text, a.text) AS text, coalesce(c.markdown, a.markdown) AS markdown,
        a.confidence, a.num_tokens, a.seconds, a.width_px, a.height_px, a.dpi,
        a.error_stage, a.error_category, a.error_message, a.settings_hash,
        a.text_sha256, a.content_sha256, a.rung, a.source, a.rotation_deg, a.layer_agreement, a.script, a.doubt,
        a.run_id, a.finished_at,
        f.id AS file_id, d.id AS document_id, p.id AS page_id, a.id AS attempt_id,
        c.made_at AS corrected_at, c.made_by AS corrected_by
    FROM listed_files f
    JOIN documents d ON d.id = f.document_id
    JOIN pages p ON p.document_id = d.id AND p.asked
    LEFT JOIN attempts a ON a.id = p.current_attempt_id
    LEFT JOIN corrections c ON c.id = p.correction_id;
CREATE VIEW superseded_results AS
    SELECT s.path, d.sha256, p.page_index, p.page_index + 1 AS page, p.status,
        coalesce(c.text, a.text) AS text, coalesce(c.markdown, a.markdown) AS markdown,
        a.confidence, a.num_tokens, a.seconds, a.width_px, a.height_px, a.dpi,
        a.error_stage, a.error_category, a.error_message, a.settings_hash,
        a.text_sha256, a.content_sha256, a.rung, a.source, a.rotation_deg, a.layer_agreement, a.script, a.doubt,
        a.run_id, a.finished_at, s.document_id, p.id AS page_id, a.id AS attempt_id,
        c.made_at AS corrected_at, c.made_by AS corrected_by
    FROM superseded s
    JOIN documents d ON d.id = s.document_id
    JOIN pages p ON p.document_id = d.id AND p.asked
    LEFT JOIN attempts a ON a.id = p.current_attempt_id
    LEFT JOIN corrections c ON c.id = p.correction_id;
CREATE VIEW current_text AS
    SELECT p.id AS page_id, coalesce(c.text, a.text) AS text
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
CREATE TRIGGER pages_pointed AFTER UPDATE OF current_attempt_id, correction_id ON pages
WHEN old.current_attempt_id IS NOT new.current_attempt_id OR old.correction_id IS NOT new.correction_id BEGIN
    INSERT INTO page_search(page_search, rowid, text)
        SELECT 'delete', old.id, coalesce((SELECT text FROM corrections WHERE id = old.correction_id), text)
        FROM attempts WHERE id = old.current_attempt_id;
    INSERT INTO page_search(rowid, text)
        SELECT new.id, coalesce((SELECT text FROM corrections WHERE id = new.correction_id), text)
        FROM attempts WHERE id = new.current_attempt_id;
END;
CREATE TRIGGER pages_inserted AFTER INSERT ON pages WHEN new.current_attempt_id IS NOT NULL BEGIN
    INSERT INTO page_search(rowid, text)
        SELECT new.id, coalesce((SELECT text FROM corrections WHERE id = new.correction_id), text)
        FROM attempts WHERE id = new.current_attempt_id;
END;
CREATE TRIGGER pages_deleted BEFORE DELETE ON pages WHEN old.current_attempt_id IS NOT NULL BEGIN
    INSERT INTO page_search(page_search, rowid, text)
        SELECT 'delete', old.id, coalesce((SELECT text FROM corrections WHERE id = old.correction_id), text)
        FROM attempts WHERE id = old.current_attempt_id;
END;
CREATE TRIGGER attempts_rewritten AFTER UPDATE OF text ON attempts BEGIN
    INSERT INTO page_search(page_search, rowid, text)
        SELECT 'delete', id, old.text FROM pages WHERE current_attempt_id = old.id AND correction_id IS NULL;
    INSERT INTO page_search(rowid, text)
        SELECT id, new.text FROM pages WHERE current_attempt_id = new.id AND correction_id IS NULL;
END;
CREATE TRIGGER corrections_rewritten BEFORE UPDATE OF text ON corrections BEGIN
    SELECT raise(ABORT, 'a correction is not rewritten: add another, and point the page at it');
END;
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
DROP TRIGGER pages_pointed;
DROP TRIGGER pages_inserted;
DROP TRIGGER pages_deleted;
DROP TRIGGER attempts_rewritten;
DROP TRIGGER corrections_rewritten;
DROP TABLE page_search;
DROP VIEW current_text;
ALTER TABLE attempts ADD COLUMN search_lines TEXT;
ALTER TABLE corrections ADD COLUMN search_lines TEXT;
UPDATE attempts SET search_lines = search_lines(text) WHERE search_lines(text) IS NOT NULL;
UPDATE corrections SET search_lines = search_lines(text) WHERE search_lines(text) IS NOT NULL;
CREATE VIEW current_text AS
    SELECT p.id AS page_id, coalesce(c.text, a.text) AS text,
        iif(c.id IS NULL, a.search_lines, c.search_lines) AS search_lines
    FROM pages p JOIN attempts a ON a.id = p.current_attempt_id LEFT JOIN corrections c ON c.id = p.correction_id;
CREATE VIRTUAL TABLE page_search USING fts5(
    text, search_lines, content='current_text', content_rowid='page_id', tokenize='unicode61 remove_diacritics 2');
CREATE TRIGGER pages_pointed AFTER UPDATE OF current_attempt_id, correction_id ON pages
WHEN old.current_attempt_id IS NOT new.current_attempt_id OR old.correction_id IS NOT new.correction_id BEGIN
    INSERT INTO page_search(page_search, rowid, text, search_lines)
        SELECT 'delete', old.id, coalesce(c.text, a.text), iif(c.id IS NULL, a.search_lines, c.search_lines)
        FROM attempts a LEFT JOIN corrections c ON c.id = old.correction_id WHERE a.id = old.current_attempt_id;
    INSERT INTO page_search(rowid, text, search_lines)
        SELECT new.id, coalesce(c.text, a.text), iif(c.id IS NULL, a.search_lines, c.search_lines)
        FROM attempts a LEFT JOIN corrections c ON c.id = new.correction_id WHERE a.id = new.current_attempt_id;
END;
CREATE TRIGGER pages_inserted AFTER INSERT ON pages WHEN new.current_attempt_id IS NOT NULL BEGIN
    INSERT INTO page_search(rowid, text, search_lines)
        SELECT new.id, coalesce(c.text, a.text), iif(c.id IS NULL, a.search_lines, c.search_lines)
        FROM attempts a LEFT JOIN corrections c ON c.id = new.correction_id WHERE a.id = new.current_attempt_id;
END;
CREATE TRIGGER pages_deleted BEFORE DELETE ON pages WHEN old.current_attempt_id IS NOT NULL BEGIN
    INSERT INTO page_search(page_search, rowid, text, search_lines)
        SELECT 'delete', old.id, coalesce(c.text, a.text), iif(c.id IS NULL, a.search_lines, c.search_lines)
        FROM attempts a LEFT JOIN corrections c ON c.id = old.correction_id WHERE a.id = old.current_attempt_id;
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
INSERT INTO page_search(page_search) VALUES ('rebuild');
"""

# Version -> the step that leads to the next one.
STEPS = {6: _DOUBT, 7: _WORDS_AND_CORRECTIONS, 8: _ATTEMPTS_OF_PAGES, 9: _STAMPS, 10: _SEARCH_LINES}
OLDEST = min(STEPS)

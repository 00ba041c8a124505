"""The schema of a new database, and the steps that bring an older one's tables to it.

    files (path) -> documents (sha256) -> pages (page_index) -> attempts (settings_hash, run)
    attempts -> blocks, timings; runs; in_flight (page, run); page_search (FTS5 over the current texts)
    corrections (page): texts that people wrote, beside what was read; a page points at the one that counts

The tables are those of tables.sql; views, index and triggers stand here. PRAGMA user_version holds the version. A new
version changes the schema; one that changes tables adds the step that leads from the one before to the same, which is
never edited once it has landed: a test holds their hashes. Our views and triggers are not there while a step runs; they
are made anew whenever a database is brought up to date, the index only where a step has dropped it.

- 6: the status doubtful, and doubt. SQLite changes no CHECK of a table that is there, so the attempts are copied into a
  new one, their texts last.
- 7: boxes of words, and corrections, which count as a page's text.
- 8: a first reading that is deleted once a better one is there made SQLite look through all pages.
- 9: a file that has not changed is known without being opened.
- 10: words that line ends cut, and those of Chinese and Japanese, are found (storage.strings.search_lines).
"""

from pathlib import Path

APPLICATION_ID = 0x6F637262  # "ocrb", in every file this program makes
VERSION = 11

# Version -> the step that leads to the next one.
STEPS = {
    int(step.stem): step.read_text(encoding="utf-8")
    for step in Path(__file__).with_name("steps").glob("*.sql")
}
OLDEST = min(STEPS)

TABLES = Path(__file__).with_name("tables.sql").read_text(encoding="utf-8")

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

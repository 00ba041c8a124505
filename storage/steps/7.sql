
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

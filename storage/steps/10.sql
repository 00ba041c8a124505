
DROP TABLE page_search;
ALTER TABLE attempts ADD COLUMN search_lines TEXT;
ALTER TABLE corrections ADD COLUMN search_lines TEXT;
UPDATE attempts SET search_lines = search_lines(text) WHERE search_lines(text) IS NOT NULL;
UPDATE corrections SET search_lines = search_lines(text) WHERE search_lines(text) IS NOT NULL;

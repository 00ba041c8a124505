
CREATE INDEX pages_attempt ON pages(current_attempt_id);

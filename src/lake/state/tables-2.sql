-- State version 2: compaction, and the names of machines.

-- Rows of a part are of the batches first_batch to last_batch; for a part that a batch wrote, all are of that batch.
-- replaced_by is the compaction that took a part's place, until it is published.
ALTER TABLE parts ADD COLUMN first_batch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE parts ADD COLUMN last_batch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE parts ADD COLUMN replaced_by INTEGER;
UPDATE parts SET first_batch = batch, last_batch = batch;

-- A compaction has a batch number but no row of its own.
ALTER TABLE batches ADD COLUMN is_compaction INTEGER NOT NULL DEFAULT 0;

-- What each machine that wrote to the lake is called in the column host.
CREATE TABLE hosts (
    machine  TEXT PRIMARY KEY,
    name     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The state of a lake. Each changing table has a twin undo_* that keeps the rows a batch replaced until it is published.

CREATE TABLE lake (
    lake_id     TEXT NOT NULL,
    generation  INTEGER NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT;

-- What was read of each source, and how to go on. A vanished source keeps its row for ever.
CREATE TABLE sources (
    id           INTEGER PRIMARY KEY,
    provider     TEXT NOT NULL,
    path         BLOB NOT NULL,
    size         INTEGER NOT NULL,
    mtime        INTEGER NOT NULL,
    ctime        INTEGER NOT NULL,
    device       INTEGER NOT NULL,
    inode        INTEGER NOT NULL,
    read_at      INTEGER NOT NULL,
    settled      INTEGER NOT NULL,
    was_rewritten INTEGER NOT NULL,
    read_offset  INTEGER NOT NULL,
    head_hash    BLOB NOT NULL,
    head_len     INTEGER NOT NULL,
    tail_hash    INTEGER NOT NULL,
    last_ts      INTEGER,
    first_ts     INTEGER,
    first_ts_is_mtime INTEGER NOT NULL,
    carry        TEXT NOT NULL,
    seen         BLOB NOT NULL,
    batch        INTEGER NOT NULL,
    UNIQUE (provider, path)
) STRICT;
CREATE INDEX sources_by_head ON sources (head_hash);
CREATE TABLE undo_sources AS SELECT * FROM sources;

-- What is known of each session, JSON, and the source that it was first read from.
CREATE TABLE sessions (
    provider    TEXT NOT NULL,
    session_id  TEXT NOT NULL,
    source_id   INTEGER NOT NULL,
    facts       TEXT NOT NULL,
    batch       INTEGER NOT NULL,
    PRIMARY KEY (provider, session_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE undo_sessions AS SELECT * FROM sessions;

-- Whom requests are credited to; few distinct values, shared by many requests.
CREATE TABLE origins (
    id    INTEGER PRIMARY KEY,
    json  TEXT NOT NULL UNIQUE
) STRICT;

-- The usage ledger: the record that stands for each request. Rows stand in the order they came: keys are hashes, and a table
-- ordered by them would have every wave write every page. Only the small index is.
CREATE TABLE requests (
    request      BLOB NOT NULL UNIQUE,
    rev          INTEGER NOT NULL,
    class        INTEGER NOT NULL,
    rank0        INTEGER NOT NULL,
    rank1        INTEGER NOT NULL,
    rank2        INTEGER NOT NULL,
    input        INTEGER,
    cache_read   INTEGER,
    write_5m     INTEGER,
    write_1h     INTEGER,
    output       INTEGER,
    searches     INTEGER,
    reasoning    INTEGER,
    variant      INTEGER NOT NULL,
    guard        INTEGER,
    first_ts     INTEGER NOT NULL,
    last_ts      INTEGER NOT NULL,
    origin       INTEGER NOT NULL REFERENCES origins (id),
    batch        INTEGER NOT NULL
) STRICT;
CREATE TABLE undo_requests AS SELECT * FROM requests;

CREATE TABLE batches (
    batch         INTEGER PRIMARY KEY,
    committed_at  INTEGER NOT NULL,
    published     INTEGER NOT NULL,
    rows          INTEGER NOT NULL
) STRICT;

CREATE TABLE parts (
    path            TEXT PRIMARY KEY,
    table_name      TEXT NOT NULL,
    provider        TEXT NOT NULL,
    date            TEXT NOT NULL,
    batch           INTEGER NOT NULL,
    rows            INTEGER NOT NULL,
    bytes           INTEGER NOT NULL,
    xxh3            BLOB NOT NULL,
    schema_version  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX parts_by_batch ON parts (batch);

-- Paths that could not be read, so that the same trouble is told once.
CREATE TABLE problems (
    provider  TEXT NOT NULL,
    path      BLOB NOT NULL,
    reason    TEXT NOT NULL,
    batch     INTEGER NOT NULL,
    PRIMARY KEY (provider, path)
) STRICT, WITHOUT ROWID;

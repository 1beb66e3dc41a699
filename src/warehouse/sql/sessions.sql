-- What is known of each session: the row of the newest batch.
CREATE OR REPLACE VIEW sessions AS
SELECT
    *,
    make_timestamp(epoch_us(ts)) AS ts_utc,
    make_timestamp(epoch_us(started_at)) AS started_utc,
    make_timestamp(epoch_us(updated_at)) AS updated_utc
FROM stored.sessions
QUALIFY row_number() OVER (PARTITION BY provider, session_id ORDER BY batch DESC, event_id) = 1;

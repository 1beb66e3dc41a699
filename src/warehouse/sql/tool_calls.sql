-- Tool calls with their time as plain UTC, each in its newest version.
CREATE OR REPLACE VIEW tool_calls AS
SELECT *, make_timestamp(epoch_us(ts)) AS ts_utc
FROM stored.tool_calls;

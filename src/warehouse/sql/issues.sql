-- What could not be read as expected, with its time as plain UTC.
CREATE OR REPLACE VIEW issues AS
SELECT *, make_timestamp(epoch_us(ts)) AS ts_utc
FROM stored.issues;

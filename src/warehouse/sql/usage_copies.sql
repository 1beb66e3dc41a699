-- Repeats and replays of requests counted elsewhere, with their time as plain UTC. Never add these.
CREATE OR REPLACE VIEW usage_copies AS
SELECT *, make_timestamp(epoch_us(ts)) AS ts_utc
FROM stored.usage_copies;

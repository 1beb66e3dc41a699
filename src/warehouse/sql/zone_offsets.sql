-- The offsets of one time zone from UTC: each holds from utc_from on. An unknown zone is an error, never UTC.
CREATE OR REPLACE MACRO zone_offsets(zone_name) AS TABLE
SELECT utc_from, offset_seconds
FROM tz_offsets
WHERE lower(zone) = CASE
    WHEN EXISTS (SELECT 1 FROM tz_offsets AS known WHERE lower(known.zone) = lower(zone_name)) THEN lower(zone_name)
    ELSE error('Unknown time zone: ' || zone_name)
END;

-- The first day of the week that a day lies in. `week_start` is the English name of the day that weeks begin with, in any case
-- of letters; Monday if not given. Another word is an error, never Monday.
CREATE OR REPLACE MACRO week_of(day, week_start) AS
    day - (
        (
            isodow(day) + 7 - coalesce(
                list_position(
                    ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'],
                    lower(coalesce(week_start, 'monday'))
                ),
                error('No day of the week: ' || week_start)
            )
        ) % 7
    )::INTEGER;

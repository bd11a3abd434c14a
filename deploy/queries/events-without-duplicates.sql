-- How many events of each kind are there on each day, every event counted once?
--
-- Delivery is at least once: a phone that sends again and a relay that was killed can bring a row twice. All copies carry
-- one event_id; the copy that was received first counts. Begin queries of your own with `events`.
--
-- Change     mobile_events       the collection, in all three places
--            from_time, to_time  the window of timestamps, UTC
-- Columns    events      events, each once
--            repeats     further rows of the same events
--            id_clashes  ids under which different events came: a fault of the app, event_id must be random
-- Rows without event_id, such as those of old builds that call GraphJSON directly, are counted as they are.

WITH
    toDateTime('2026-01-01 00:00:00', 'UTC') AS from_time,
    toDateTime('2026-02-01 00:00:00', 'UTC') AS to_time,
    events AS (
        SELECT
            JSONExtractString(json, 'event_id') AS event_id,
            JSONExtractString(json, 'event') AS event,
            -- What the request said, unless the clock was right and the exact second is known.
            toDateTime(
                if(JSONExtractBool(json, 'timestamp_corrected'), toUnixTimestamp(toDateTime(timestamp, 'UTC')),
                    JSONExtractUInt(json, 'occurred_at')), 'UTC') AS at
        FROM mobile_events
        WHERE toDateTime(timestamp, 'UTC') >= from_time AND toDateTime(timestamp, 'UTC') < to_time AND event_id != ''
        ORDER BY JSONExtractUInt(json, 'received_at'), JSONExtractUInt(json, 'occurred_at')
        LIMIT 1 BY event_id
    ),
    copies AS (
        SELECT
            JSONExtractString(json, 'event_id') AS event_id,
            count() AS rows,
            uniqExact(
                JSONExtractString(json, 'event'), JSONExtractString(json, 'anonymous_id'),
                JSONExtractUInt(json, 'occurred_at')) AS variants
        FROM mobile_events
        WHERE event_id != ''
        GROUP BY event_id
    )
SELECT day, event, events, repeats, id_clashes
FROM (
    SELECT toDate(at) AS day, event, count() AS events, sum(rows) - count() AS repeats, countIf(variants > 1) AS id_clashes
    FROM events INNER JOIN copies USING (event_id)
    GROUP BY day, event
    UNION ALL
    SELECT toDate(toDateTime(timestamp, 'UTC')) AS day, '(no event_id)' AS event, count() AS events, 0 AS repeats, 0 AS id_clashes
    FROM mobile_events
    WHERE toDateTime(timestamp, 'UTC') >= from_time AND toDateTime(timestamp, 'UTC') < to_time
        AND JSONExtractString(json, 'event_id') = ''
    GROUP BY day
)
ORDER BY day, event

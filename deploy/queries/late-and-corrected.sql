-- How late do events come, and how many had a wrong clock?
--
-- Phones are offline and send later: a report on a day is complete only when most of its events have come. The endpoint
-- moves an implausible timestamp into its window, says timestamp_corrected, and keeps occurred_at as the device had it
-- (clock.max_age_s, clock.max_future_s). With client_sent_at the device's error is known and mostly the true time
-- restored; else the timestamp stands at the edge of the window and tells little. By day of receipt, the server's.
--
-- Change     mobile_events       the collection
--            from_time, to_time  the window of receipt, UTC
-- Columns    within_an_hour, within_a_day, later    by receipt minus occurrence, of events whose clock was plausible
--            latest_hours     the longest of these delays
--            restored         timestamps corrected by the device's own error
--            at_the_edge      timestamps moved to the edge of the window
--            worst_clock_hours    the largest error of a device that said when it sent; minus: behind

WITH
    toDateTime('2026-01-01 00:00:00', 'UTC') AS from_time,
    toDateTime('2026-02-01 00:00:00', 'UTC') AS to_time,
    events AS (
        SELECT
            JSONExtractInt(json, 'received_at') AS received_at,
            JSONExtractBool(json, 'timestamp_corrected') AS is_corrected,
            received_at - JSONExtractInt(json, 'occurred_at') AS delay,
            JSONHas(json, 'client_sent_at') AS knows_error,
            JSONExtractInt(json, 'client_sent_at') - received_at AS error,
            JSONExtractInt(json, 'occurred_at') - error - toInt64(toUnixTimestamp(toDateTime(timestamp, 'UTC'))) AS off,
            -- Requests may carry timestamps rounded down (graphjson.timestamp_precision_s).
            knows_error AND off >= 0 AND off < greatest(1, JSONExtractInt(json, 'timestamp_rounded_s')) AS is_restored
        FROM mobile_events
        WHERE toDateTime(received_at, 'UTC') >= from_time AND toDateTime(received_at, 'UTC') < to_time
            AND JSONExtractString(json, 'event_id') != ''
        ORDER BY received_at, JSONExtractUInt(json, 'occurred_at')
        LIMIT 1 BY JSONExtractString(json, 'event_id')
    )
SELECT
    toDate(toDateTime(received_at, 'UTC')) AS day,
    count() AS events,
    countIf(NOT is_corrected AND delay <= 3600) AS within_an_hour,
    countIf(NOT is_corrected AND delay > 3600 AND delay <= 86400) AS within_a_day,
    countIf(NOT is_corrected AND delay > 86400) AS later,
    round(maxIf(delay, NOT is_corrected) / 3600, 1) AS latest_hours,
    countIf(is_corrected AND is_restored) AS restored,
    countIf(is_corrected AND NOT is_restored) AS at_the_edge,
    round(argMaxIf(error, abs(error), knows_error) / 3600, 1) AS worst_clock_hours
FROM events
GROUP BY day
ORDER BY day

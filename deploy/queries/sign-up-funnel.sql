-- How many people see a first screen, sign up, and then export a report, within seven days?
--
-- GraphJSON does not merge identities; this query does. An event that names a user is that user's. An anonymous event is
-- the user's who signs in next on the same device (anonymous_id). So history before sign-in joins the person who signed
-- up, a second device joins its user, and on a shared device each stretch belongs to whoever signs in at its end. Without
-- a later sign-in the device itself is counted.
--
-- Change     mobile_events       the collection
--            from_time, to_time  the window of timestamps, UTC; sign-ins outside it are not seen
--            604800              seconds from the first step to the last
--            the three events    in `steps` and in windowFunnel, in the same order
-- Columns    people        who came to this step, having done the steps before it in this order
--            percent       of those who took the first step

WITH
    toDateTime('2026-01-01 00:00:00', 'UTC') AS from_time,
    toDateTime('2026-02-01 00:00:00', 'UTC') AS to_time,
    ['screen_viewed', 'sign_up_completed', 'report_exported'] AS steps,
    events AS (
        SELECT
            JSONExtractString(json, 'event') AS event,
            JSONExtractString(json, 'anonymous_id') AS anonymous_id,
            JSONExtractString(json, 'user_id') AS user_id,
            toDateTime(
                if(JSONExtractBool(json, 'timestamp_corrected'), toUnixTimestamp(toDateTime(timestamp, 'UTC')),
                    JSONExtractUInt(json, 'occurred_at')), 'UTC') AS at
        FROM mobile_events
        WHERE toDateTime(timestamp, 'UTC') >= from_time AND toDateTime(timestamp, 'UTC') < to_time
            AND JSONExtractString(json, 'event_id') != ''
        ORDER BY JSONExtractUInt(json, 'received_at'), JSONExtractUInt(json, 'occurred_at')
        LIMIT 1 BY JSONExtractString(json, 'event_id')
    ),
    sign_ins AS (SELECT anonymous_id, at AS signed_in_at, user_id AS next_user FROM events WHERE user_id != ''),
    people AS (
        SELECT
            event,
            at,
            multiIf(user_id != '', user_id, next_user != '', next_user, anonymous_id) AS person
        FROM events
        ASOF LEFT JOIN sign_ins ON events.anonymous_id = sign_ins.anonymous_id AND events.at <= sign_ins.signed_in_at
    ),
    levels AS (
        SELECT
            person,
            windowFunnel(604800)(
                at, event = 'screen_viewed', event = 'sign_up_completed', event = 'report_exported') AS level
        FROM people
        GROUP BY person
    )
SELECT
    step,
    steps[step] AS event,
    countIf(level >= step) AS people,
    round(100 * people / (SELECT countIf(level >= 1) FROM levels), 1) AS percent
FROM levels
ARRAY JOIN [1, 2, 3] AS step
GROUP BY step
ORDER BY step

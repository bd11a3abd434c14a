-- Does a release fail more often than the one before it?
--
-- Failures by app version and build; each event once, since retries come most from the releases that fail. A release that
-- few people have yet can look bad or good by chance: believe a difference when the ranges do not overlap.
--
-- Change     mobile_events                     the collection
--            from_time, to_time                the window of timestamps, UTC
--            report_exported, report_failed    the event of a success and that of a failure
-- Columns    attempts, failures, devices
--            failure_percent    failures of a hundred attempts
--            from_percent, to_percent    the range in which the true rate is with 95 % confidence (Wilson)

WITH
    toDateTime('2026-01-01 00:00:00', 'UTC') AS from_time,
    toDateTime('2026-02-01 00:00:00', 'UTC') AS to_time,
    1.96 AS z,
    events AS (
        SELECT
            JSONExtractString(json, 'event') AS event,
            JSONExtractString(json, 'anonymous_id') AS anonymous_id,
            JSONExtractString(json, 'platform') AS platform,
            JSONExtractString(json, 'app_version') AS app_version,
            JSONExtractString(json, 'build_number') AS build_number
        FROM mobile_events
        WHERE toDateTime(timestamp, 'UTC') >= from_time AND toDateTime(timestamp, 'UTC') < to_time
            AND JSONExtractString(json, 'event_id') != ''
        ORDER BY JSONExtractUInt(json, 'received_at'), JSONExtractUInt(json, 'occurred_at')
        LIMIT 1 BY JSONExtractString(json, 'event_id')
    )
SELECT
    platform,
    app_version,
    build_number,
    count() AS attempts,
    countIf(event = 'report_failed') AS failures,
    uniqExact(anonymous_id) AS devices,
    round(100 * failures / attempts, 1) AS failure_percent,
    round(100 * (failures + z * z / 2 - z * sqrt(failures * (attempts - failures) / attempts + z * z / 4))
        / (attempts + z * z), 1) AS from_percent,
    round(100 * (failures + z * z / 2 + z * sqrt(failures * (attempts - failures) / attempts + z * z / 4))
        / (attempts + z * z), 1) AS to_percent
FROM events
WHERE event IN ('report_exported', 'report_failed')
GROUP BY platform, app_version, build_number
-- 4.10.0 comes after 4.3.0, build 1002 after build 812.
ORDER BY platform, arrayMap(x -> toUInt64OrZero(x), splitByChar('.', app_version)), toUInt64OrZero(build_number)

-- Which schema versions do devices still send, and which may the contract give up?
--
-- Raise schema_versions.min in the contract when an old version has no active devices left, or few enough. A device counts
-- as active by when it sent, not by when its events happened: one that comes back after weeks offline still sends the
-- old version. Devices are counted, so rows that came twice make no difference.
--
-- Change     mobile_events       the collection
--            from_time, to_time  the window of receipt, UTC
--            14                  days before to_time in which a device is active
-- Columns    devices            that sent this version in the window
--            active_devices     of them, those that did so in the last days
--            active_percent     of all active devices of the platform
--            first_received, last_received, releases

WITH
    toDateTime('2026-01-01 00:00:00', 'UTC') AS from_time,
    toDateTime('2026-02-01 00:00:00', 'UTC') AS to_time,
    to_time - INTERVAL 14 DAY AS active_from,
    rows AS (
        SELECT
            JSONExtractString(json, 'platform') AS platform,
            JSONExtractUInt(json, 'schema_version') AS schema_version,
            JSONExtractString(json, 'app_version') AS app_version,
            JSONExtractString(json, 'anonymous_id') AS anonymous_id,
            toDateTime(JSONExtractUInt(json, 'received_at'), 'UTC') AS received
        FROM mobile_events
        WHERE received >= from_time AND received < to_time AND JSONHas(json, 'schema_version')
    ),
    totals AS (
        SELECT platform, uniqExactIf(anonymous_id, received >= active_from) AS active_on_platform FROM rows GROUP BY platform
    )
SELECT
    platform,
    schema_version,
    uniqExact(anonymous_id) AS devices,
    uniqExactIf(anonymous_id, received >= active_from) AS active_devices,
    round(100 * active_devices / any(active_on_platform), 1) AS active_percent,
    min(received) AS first_received,
    max(received) AS last_received,
    arraySort(x -> arrayMap(y -> toUInt64OrZero(y), splitByChar('.', x)), groupUniqArray(app_version)) AS releases
FROM rows INNER JOIN totals USING (platform)
GROUP BY platform, schema_version
ORDER BY platform, schema_version

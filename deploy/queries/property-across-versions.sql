-- How many reports are exported in each format, over releases that do not all say it?
--
-- Schema 2 brought the property `format`; releases with schema 1 are about for months and always exported CSV. A query
-- over an active schema window says for each version where a value comes from, and shows what it does not know.
--
-- Change     mobile_events       the collection
--            from_time, to_time  the window of timestamps, UTC
--            the multiIf         one line for each version of the schema
-- Columns    format, exports, schema_versions

WITH
    toDateTime('2026-01-01 00:00:00', 'UTC') AS from_time,
    toDateTime('2026-02-01 00:00:00', 'UTC') AS to_time,
    events AS (
        SELECT
            JSONExtractString(json, 'event') AS event,
            JSONExtractUInt(json, 'schema_version') AS schema_version,
            JSONExtractString(json, 'format') AS format_property
        FROM mobile_events
        WHERE toDateTime(timestamp, 'UTC') >= from_time AND toDateTime(timestamp, 'UTC') < to_time
            AND JSONExtractString(json, 'event_id') != ''
        ORDER BY JSONExtractUInt(json, 'received_at'), JSONExtractUInt(json, 'occurred_at')
        LIMIT 1 BY JSONExtractString(json, 'event_id')
    )
SELECT
    multiIf(
        schema_version = 1, 'csv',
        schema_version >= 2 AND format_property != '', format_property,
        '(unknown)') AS format,
    count() AS exports,
    arraySort(groupUniqArray(schema_version)) AS schema_versions
FROM events
WHERE event = 'report_exported'
GROUP BY format
ORDER BY exports DESC, format

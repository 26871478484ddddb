-- Calls that were stored since the last read, for the streams of calls of one node: the first of each filter and writer, with how many
-- there are, and the last flush among them. A filter that is fresh gets those of earlier flushes as well.
SELECT
  filter, writer,
  count() OVER (PARTITION BY filter, writer)            AS found,
  max(flush_number) OVER (PARTITION BY filter, writer)  AS last_flush,
  toUnixTimestamp64Milli(at) AS at_ms,
  tenant, api, operation, request_id, status, outcome, consumer, consumer_name, subscription, agent, person,
  duration_us, upstream_us,
  toString(request_bytes) AS request_bytes, toString(response_bytes) AS response_bytes, toString(units) AS units,
  '' AS explanation, channel
FROM (
  SELECT *, transform(toString(writer), {writers:Array(String)}, {flushes:Array(UInt64)}, toUInt64(0)) AS read_until
  FROM request_log
  WHERE tenant IN (SELECT arrayJoin({tenants:Array(String)}))
    AND at >= fromUnixTimestamp64Milli({from_ms:Int64})
    AND ({any_fresh:UInt8} = 1 OR flush_number > read_until)
)
ARRAY JOIN arrayEnumerate({tenants:Array(String)}) AS filter
WHERE tenant = {tenants:Array(String)}[filter]
  AND ({fresh:Array(UInt8)}[filter] = 1 OR flush_number > read_until)
  AND at >= fromUnixTimestamp64Milli({since_ms:Array(Int64)}[filter])
  AND ({apis:Array(String)}[filter] = '' OR api = {apis:Array(String)}[filter])
  AND ({customers:Array(String)}[filter] = '' OR consumer = {customers:Array(String)}[filter])
  AND ({outcomes:Array(String)}[filter] = '' OR outcome = {outcomes:Array(String)}[filter])
  AND ({refused:Array(UInt8)}[filter] = 0 OR outcome != 'served')
ORDER BY at, request_id
LIMIT {limit:UInt32} BY filter, writer

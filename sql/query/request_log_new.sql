-- Calls that were stored since the last read, for the streams of calls of one node: the first of each filter and writer, with how many
-- there are, and the last flush among them. A filter that is fresh gets those of earlier flushes as well. Names are hexadecimal, so that
-- no name can end its literal and fail the read of all.
WITH
  arrayMap(name -> unhex(name), {tenants:Array(String)})   AS tenants,
  arrayMap(name -> unhex(name), {apis:Array(String)})      AS apis,
  arrayMap(name -> unhex(name), {customers:Array(String)}) AS customers,
  arrayMap(name -> unhex(name), {outcomes:Array(String)})  AS outcomes
SELECT
  filter, writer,
  count() OVER (PARTITION BY filter, writer)            AS found,
  max(flush_number) OVER (PARTITION BY filter, writer)  AS last_flush,
  toUnixTimestamp64Milli(at) AS at_ms,
  tenant, api, operation, request_id, status, outcome, consumer, consumer_name, subscription, agent, person,
  duration_us, upstream_us,
  toString(request_bytes) AS request_bytes, toString(response_bytes) AS response_bytes, toString(units) AS units,
  '' AS explanation, channel, revision
FROM (
  SELECT *, transform(toString(writer), {writers:Array(String)}, {flushes:Array(UInt64)}, toUInt64(0)) AS read_until
  FROM request_log
  WHERE tenant IN (SELECT arrayJoin(tenants))
    AND at >= fromUnixTimestamp64Milli({from_ms:Int64})
    AND ({any_fresh:UInt8} = 1 OR flush_number > read_until)
)
ARRAY JOIN arrayFilter(
  each -> tenants[each] = tenant
    AND ({fresh:Array(UInt8)}[each] = 1 OR flush_number > read_until)
    AND at >= fromUnixTimestamp64Milli({since_ms:Array(Int64)}[each]),
  arrayEnumerate(tenants)) AS filter
WHERE (apis[filter] = '' OR api = apis[filter])
  AND (customers[filter] = '' OR consumer = customers[filter])
  AND (outcomes[filter] = '' OR outcome = outcomes[filter])
  AND ({revisions:Array(Int64)}[filter] < 0 OR revision = {revisions:Array(Int64)}[filter])
  AND ({refused:Array(UInt8)}[filter] = 0 OR outcome != 'served')
ORDER BY at, request_id
LIMIT {limit:UInt32} BY filter, writer

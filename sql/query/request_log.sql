-- Calls of a tenant, the latest first.
SELECT
  toUnixTimestamp64Milli(at) AS at_ms,
  api, operation, request_id, status, outcome, consumer, consumer_name, subscription, agent, person,
  duration_us, upstream_us,
  toString(request_bytes) AS request_bytes, toString(response_bytes) AS response_bytes, toString(units) AS units,
  explanation, channel, revision
FROM request_log
WHERE tenant = {tenant:String}
  AND at >= fromUnixTimestamp64Milli({from_ms:Int64})
  AND at <  fromUnixTimestamp64Milli({to_ms:Int64})
  AND ({api:String} = '' OR api = {api:String})
  AND ({customer:String} = '' OR consumer = {customer:String})
  AND ({outcome:String} = '' OR outcome = {outcome:String})
  AND ({refused:UInt8} = 0 OR outcome != 'served')
  AND ({revision:Int64} < 0 OR revision = {revision:Int64})
  AND ({request_id:String} = '' OR request_id = {request_id:String})
  AND (toUnixTimestamp64Milli(at), request_id) < ({before_ms:Int64}, {before_id:String})
ORDER BY at DESC, request_id DESC
LIMIT {limit:UInt32}

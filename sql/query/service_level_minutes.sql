-- How the providers' side of APIs did, by the minute, over all nodes.
SELECT
  toUnixTimestamp(minute)             AS minute_s,
  tenant,
  api,
  operation,
  toString(sum(service_levels.calls)) AS calls,
  toString(sum(unanswered))           AS unanswered,
  toString(sum(errors))               AS errors,
  toString(sum(successes))            AS successes,
  toString(sum(latency_us))           AS latency_us,
  sumMap(latency)                     AS latency
FROM service_levels
WHERE has({apis:Array(String)}, api)
  AND minute >= fromUnixTimestamp64Milli({from_ms:Int64})
  AND minute <  fromUnixTimestamp64Milli({to_ms:Int64})
GROUP BY minute, tenant, api, operation
ORDER BY minute, tenant, api, operation
LIMIT 200000

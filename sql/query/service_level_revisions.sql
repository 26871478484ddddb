-- How the provider's side of each revision of an API did, the latest revision first.
SELECT
  revision,
  toString(sum(service_levels.calls)) AS calls,
  toString(sum(unanswered))           AS unanswered,
  toString(sum(errors))               AS errors,
  toString(sum(successes))            AS successes,
  toString(sum(latency_us))           AS latency_us,
  sumMap(latency)                     AS latency
FROM service_levels
WHERE tenant = {tenant:String}
  AND api = {api:String}
  AND minute >= fromUnixTimestamp64Milli({from_ms:Int64})
  AND minute <  fromUnixTimestamp64Milli({to_ms:Int64})
GROUP BY revision
ORDER BY revision DESC
LIMIT 1000

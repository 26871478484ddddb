-- How the provider's side of an API did, by stretches of time and by the load of the minute.
SELECT
  intDiv(start_s, {step_s:UInt32}) * {step_s:UInt32} AS stretch_s,
  load,
  toString(sum(m.calls))      AS calls,
  toString(sum(m.unanswered)) AS unanswered,
  toString(sum(m.errors))     AS errors,
  toString(sum(m.successes))  AS successes,
  toString(sum(m.latency_us)) AS latency_us,
  sumMap(m.latency)           AS latency
FROM (
  SELECT
    toUnixTimestamp(minute)      AS start_s,
    sum(service_levels.calls)    AS calls,
    sum(unanswered)              AS unanswered,
    sum(errors)                  AS errors,
    sum(successes)               AS successes,
    sum(latency_us)              AS latency_us,
    sumMap(latency)              AS latency,
    -- 0 where every load is exceeded.
    arrayFirstIndex(most -> calls <= most, {minute_calls:Array(Float64)}) AS load
  FROM service_levels
  WHERE tenant = {tenant:String}
    AND ({api:String} = '' OR api = {api:String})
    AND ({exclude_api:String} = '' OR api != {exclude_api:String})
    AND minute >= fromUnixTimestamp64Milli({from_ms:Int64})
    AND minute <  fromUnixTimestamp64Milli({to_ms:Int64})
    AND ({all_operations:UInt8} = 1 OR has({operations:Array(String)}, operation))
    AND (empty({span_starts_s:Array(UInt32)}) OR arrayExists(
      (s, e) -> if(s < e, toUnixTimestamp(minute) % 86400 >= s AND toUnixTimestamp(minute) % 86400 < e,
                          toUnixTimestamp(minute) % 86400 >= s OR  toUnixTimestamp(minute) % 86400 < e),
      {span_starts_s:Array(UInt32)}, {span_ends_s:Array(UInt32)}))
  GROUP BY minute
) AS m
GROUP BY stretch_s, load
ORDER BY stretch_s, load
LIMIT 10000

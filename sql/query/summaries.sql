-- Usage of a tenant totalled by up to five fields and an interval.
--
-- Whole hours come from the rollup, the parts of hours at both ends from the line items themselves:
-- the sum is exact for any range. A field that is not grouped by is ''.
SELECT
  multiIf({interval:String} = 'hour', toUnixTimestamp(hour),
          {interval:String} = 'day', toUnixTimestamp(toStartOfDay(hour)),
          {interval:String} = 'month', toUnixTimestamp(toDateTime(toStartOfMonth(hour), 'UTC')),
          toUInt32(0)) AS start_s,
  if({by_api:UInt8} = 1, u.api, '')                   AS g_api,
  if({by_customer:UInt8} = 1, u.consumer, '')         AS g_customer,
  if({by_operation:UInt8} = 1, u.operation, '')       AS g_operation,
  if({by_subscription:UInt8} = 1, u.subscription, '') AS g_subscription,
  if({by_agent:UInt8} = 1, u.agent, '')               AS g_agent,
  u.currency                                          AS g_currency,
  toString(sum(u.calls))  AS calls,
  toString(sum(u.units))  AS units,
  toString(sum(u.amount)) AS amount
FROM (
  SELECT hour, api, operation, consumer, subscription, agent, currency, calls, units, amount
  FROM line_items_hourly
  WHERE tenant = {tenant:String}
    AND hour >= fromUnixTimestamp64Milli({hours_from_ms:Int64})
    AND hour <  fromUnixTimestamp64Milli({hours_to_ms:Int64})
  UNION ALL
  SELECT toStartOfHour(window_start) AS hour, api, operation, consumer, subscription, agent, currency, calls, units, amount
  FROM line_items
  WHERE tenant = {tenant:String}
    AND window_start >= fromUnixTimestamp64Milli({from_ms:Int64})
    AND window_start <  fromUnixTimestamp64Milli({to_ms:Int64})
    AND (window_start < fromUnixTimestamp64Milli({hours_from_ms:Int64}) OR window_start >= fromUnixTimestamp64Milli({hours_to_ms:Int64}))
) AS u
WHERE ({api:String} = '' OR u.api = {api:String})
  AND ({exclude_api:String} = '' OR u.api != {exclude_api:String})
  AND ({customer:String} = '' OR u.consumer = {customer:String})
  AND ({subscription:String} = '' OR u.subscription = {subscription:String})
  AND ({operation:String} = '' OR u.operation = {operation:String})
GROUP BY start_s, g_api, g_customer, g_operation, g_subscription, g_agent, g_currency
ORDER BY start_s, g_api, g_customer, g_operation, g_subscription, g_agent, g_currency
LIMIT {limit:UInt32} OFFSET {offset:UInt32}

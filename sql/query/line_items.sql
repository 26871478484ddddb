-- Line items of a tenant, one row a window and key, in a stable order that a page can go on from.
SELECT
  toUnixTimestamp(window_start) AS start_s,
  api, operation, consumer, any(consumer_name) AS consumer_name, subscription, agent, currency, channel, revision,
  toString(sum(line_items.calls))  AS calls,
  toString(sum(line_items.units))  AS units,
  toString(sum(line_items.amount)) AS amount
FROM line_items
WHERE tenant = {tenant:String}
  AND window_start >= fromUnixTimestamp64Milli({from_ms:Int64})
  AND window_start <  fromUnixTimestamp64Milli({to_ms:Int64})
  AND ({api:String} = '' OR api = {api:String})
  AND ({exclude_api:String} = '' OR api != {exclude_api:String})
  AND ({customer:String} = '' OR consumer = {customer:String})
  AND ({subscription:String} = '' OR subscription = {subscription:String})
  AND ({operation:String} = '' OR operation = {operation:String})
  AND ({revision:Int64} < 0 OR revision = {revision:Int64})
  AND (toUnixTimestamp(window_start), api, consumer, operation, line_items.subscription, agent, currency, channel, revision)
    > ({after_start_s:UInt32}, {after_api:String}, {after_consumer:String}, {after_operation:String}, {after_subscription:String}, {after_agent:String}, {after_currency:String}, {after_channel:String}, {after_revision:Int64})
GROUP BY window_start, api, consumer, operation, subscription, agent, currency, channel, revision
ORDER BY window_start, api, consumer, operation, subscription, agent, currency, channel, revision
LIMIT {limit:UInt32}

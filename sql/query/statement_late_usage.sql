-- Usage of a consumer in a month that its closed statement lacks.
SELECT api, currency, toString(u.price) AS price, toString(sum(u.calls)) AS calls, toString(sum(u.units)) AS units, toString(sum(u.amount)) AS amount
FROM (
  SELECT api, currency, price, toInt64(calls) AS calls, units, amount FROM line_items
  WHERE tenant = {tenant:String} AND consumer = {consumer:String} AND api != {exclude_api:String}
    AND window_start >= toDateTime({month:String}, 'UTC') AND window_start < toDateTime(addMonths(toDate({month:String}), 1), 'UTC')
  UNION ALL
  SELECT api, currency, price, -toInt64(calls) AS calls, -units AS units, -amount AS amount FROM statement_lines
  WHERE tenant = {tenant:String} AND consumer = {consumer:String} AND month = toDate({month:String}) AND api != {exclude_api:String}
) AS u
GROUP BY api, currency, u.price
HAVING sum(u.calls) != 0 OR sum(u.units) != 0 OR sum(u.amount) != 0
ORDER BY api, currency, u.price
LIMIT {limit:UInt32}

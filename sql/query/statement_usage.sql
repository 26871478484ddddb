-- Usage of a consumer in an open month. Does not read the closed statements: the month may be closed meanwhile.
SELECT api, currency, toString(u.price) AS price, toString(sum(u.calls)) AS calls, toString(sum(u.units)) AS units, toString(sum(u.amount)) AS amount
FROM line_items AS u
WHERE tenant = {tenant:String} AND consumer = {consumer:String} AND api != {exclude_api:String}
  AND window_start >= toDateTime({month:String}, 'UTC') AND window_start < toDateTime(addMonths(toDate({month:String}), 1), 'UTC')
GROUP BY api, currency, u.price
ORDER BY api, currency, u.price
LIMIT {limit:UInt32}

-- The lines of a consumer's closed month.
SELECT api, currency, toString(price) AS price, toString(sum(s.calls)) AS calls, toString(sum(s.units)) AS units, toString(sum(s.amount)) AS amount
FROM statement_lines AS s
WHERE tenant = {tenant:String} AND consumer = {consumer:String} AND month = toDate({month:String}) AND api != {exclude_api:String} AND api != ''
GROUP BY api, currency, price
ORDER BY api, currency, price
LIMIT {limit:UInt32}

-- Totals of a consumer's closed month, in the order of a summary.
SELECT currency, toString(sum(s.calls)) AS calls, toString(sum(s.units)) AS units, toString(sum(s.amount)) AS amount
FROM statement_lines AS s
WHERE tenant = {tenant:String} AND consumer = {consumer:String} AND month = toDate({month:String}) AND api != {exclude_api:String} AND api != ''
GROUP BY currency
ORDER BY currency

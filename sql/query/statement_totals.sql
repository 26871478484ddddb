-- Totals of a consumer's closed month, in the order of a summary; with the corrections that are kept if its line items are removed.
SELECT currency, toString(sum(s.calls)) AS calls, toString(sum(s.units)) AS units, toString(sum(s.amount)) AS amount
FROM (
  SELECT currency, toInt64(calls) AS calls, units, amount FROM statement_lines
  WHERE tenant = {tenant:String} AND consumer = {consumer:String} AND month = toDate({month:String}) AND api != {exclude_api:String} AND api != ''
  UNION ALL
  SELECT currency, calls, units, amount FROM statement_corrections
  WHERE {are_items_removed:UInt8} = 1 AND tenant = {tenant:String} AND consumer = {consumer:String} AND month = toDate({month:String})
    AND api != {exclude_api:String}
) AS s
GROUP BY currency
ORDER BY currency

-- What was told of one episode of a tenant, oldest first.
SELECT body
FROM risk_events
WHERE tenant = {tenant:String}
  AND id >= {from:String}
  AND risk_id = {risk_id:String}
ORDER BY id
LIMIT {limit:UInt32}

-- Events of a tenant after one it has seen, oldest first.
SELECT body
FROM risk_events
WHERE tenant = {tenant:String}
  AND id > {after:String}
ORDER BY id
LIMIT {limit:UInt32}

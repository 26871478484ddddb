-- Single calls, for those who must look closer: refused ones by default. No bodies, headers, addresses or credentials.
CREATE TABLE request_log (
  at            DateTime64(3, 'UTC')    COMMENT 'when the call ended, UTC',
  tenant        LowCardinality(String),
  api           LowCardinality(String),
  operation     LowCardinality(String),
  request_id    String,
  status        UInt16,
  outcome       LowCardinality(String)  COMMENT 'served, or the code of the refusal',
  consumer      String,
  consumer_name String,
  subscription  String,
  agent         String,
  person        String                  COMMENT 'whom the agent acted for',
  duration_us   UInt32,
  upstream_us   UInt32,
  request_bytes  UInt64,
  response_bytes UInt64,
  units         Decimal(38, 6)
)
ENGINE = MergeTree
PARTITION BY toYYYYMMDD(at)
ORDER BY (tenant, at, request_id)
TTL toDateTime(at) + INTERVAL 7 DAY
SETTINGS non_replicated_deduplication_window = 10000;

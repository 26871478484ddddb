-- What the risk stream has told, for those who resume it.
CREATE TABLE risk_events (
  id       String                  COMMENT 'sorts by time',
  tenant   LowCardinality(String),
  risk_id  String,
  at       DateTime64(3, 'UTC'),
  body     String                  COMMENT 'the event as JSON'
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (tenant, id)
TTL toDateTime(at) + INTERVAL 30 DAY
SETTINGS non_replicated_deduplication_window = 10000;

-- How the providers' side did, in partial sums by the minute. Rows add up: several may carry one key.
CREATE TABLE service_levels (
  minute      DateTime('UTC')         COMMENT 'start of the minute, UTC',
  tenant      LowCardinality(String),
  api         LowCardinality(String)  COMMENT 'technical name, <name>-v<major>',
  operation   LowCardinality(String)  COMMENT 'operationId',
  calls       UInt64                  COMMENT 'calls that were for the backend to serve',
  unanswered  UInt64                  COMMENT 'of them: refused, broken off or timed out by the backend',
  errors      UInt64                  COMMENT 'of them: answered with 5xx',
  successes   UInt64                  COMMENT 'of them: answered below 400',
  latency_us  UInt64                  COMMENT 'sum over successes, of the backend',
  latency     Map(UInt16, UInt64)     COMMENT 'successes by bucket of latency, sixteen to a power of two of microseconds'
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(minute)
ORDER BY (tenant, api, minute, operation)
TTL minute + INTERVAL 13 MONTH
SETTINGS non_replicated_deduplication_window = 10000;

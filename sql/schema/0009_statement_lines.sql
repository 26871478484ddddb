-- The statements of closed months, per API and price. A row without a tenant says that the month is closed.
CREATE TABLE statement_lines (
  month      Date                    COMMENT 'first day, UTC',
  tenant     LowCardinality(String),
  consumer   String,
  api        LowCardinality(String),
  currency   LowCardinality(String),
  price      Decimal(18, 6)          COMMENT 'of one resource unit',
  calls      UInt64,
  units      Decimal(38, 6),
  amount     Decimal(38, 12),
  closed_at  DateTime64(3, 'UTC')
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(month)
ORDER BY (tenant, consumer, month, api, currency, price)
TTL month + INTERVAL 10 YEAR
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

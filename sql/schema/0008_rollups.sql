-- Totals of closed days, made from the hourly totals in the background (`src/store/clickhouse/rollups.ts`). They can be lost: each start
-- compares them with the hourly totals, and makes again what differs or is missing.

-- By the day, in the order of the keys of a summary, so that a page reads only its own rows.
CREATE TABLE usage_daily (
  day          Date                      COMMENT 'UTC',
  tenant       LowCardinality(String),
  api          LowCardinality(String),
  consumer     String,
  operation    LowCardinality(String),
  subscription String,
  agent        String,
  currency     LowCardinality(String),
  calls        UInt64,
  units        Decimal(38, 6),
  amount       Decimal(38, 12)
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (tenant, api, consumer, day, operation, subscription, agent, currency);

-- By the month, for months that are over.
CREATE TABLE usage_monthly (
  month        Date                      COMMENT 'first day, UTC',
  tenant       LowCardinality(String),
  api          LowCardinality(String),
  consumer     String,
  operation    LowCardinality(String),
  subscription String,
  agent        String,
  currency     LowCardinality(String),
  calls        UInt64,
  units        Decimal(38, 6),
  amount       Decimal(38, 12)
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(month)
ORDER BY (tenant, api, consumer, operation, subscription, agent, currency);

-- By the hour without consumers, for totals of a whole tenant.
CREATE TABLE usage_hourly_by_api (
  hour         DateTime('UTC'),
  tenant       LowCardinality(String),
  api          LowCardinality(String),
  operation    LowCardinality(String),
  currency     LowCardinality(String),
  calls        UInt64,
  units        Decimal(38, 6),
  amount       Decimal(38, 12)
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(hour)
ORDER BY (tenant, hour, api, operation, currency);

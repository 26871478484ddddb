-- Totals of closed days by price, for statements: in the order of their keys, so that a consumer's month is read from few rows. A rollup
-- like those of `0008_rollups.sql`, of this month and the one before; the only one that is made from the line items.
CREATE TABLE usage_daily_by_price (
  day          Date                      COMMENT 'UTC',
  tenant       LowCardinality(String),
  consumer     String,
  api          LowCardinality(String),
  currency     LowCardinality(String),
  price        Decimal(18, 6)            COMMENT 'of one resource unit',
  calls        UInt64,
  units        Decimal(38, 6),
  amount       Decimal(38, 12)
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (tenant, consumer, day, api, currency, price);

-- Rows are removed by settings (`src/store/clickhouse/retention.ts`), not by the engine: it removes rows one table at a time, without a
-- record of what is gone. `REMOVE TTL` fails if there is none; a table without one gets one first, so that the file can be repeated.
ALTER TABLE line_items MODIFY TTL window_start + INTERVAL 30 YEAR SETTINGS materialize_ttl_after_modify = 0;
ALTER TABLE line_items REMOVE TTL;
ALTER TABLE line_items_hourly MODIFY TTL hour + INTERVAL 30 YEAR SETTINGS materialize_ttl_after_modify = 0;
ALTER TABLE line_items_hourly REMOVE TTL;
ALTER TABLE statement_lines MODIFY TTL month + INTERVAL 30 YEAR SETTINGS materialize_ttl_after_modify = 0;
ALTER TABLE statement_lines REMOVE TTL;
ALTER TABLE risk_events MODIFY TTL toDateTime(at) + INTERVAL 30 YEAR SETTINGS materialize_ttl_after_modify = 0;
ALTER TABLE risk_events REMOVE TTL;
ALTER TABLE request_log MODIFY TTL toDateTime(at) + INTERVAL 30 YEAR SETTINGS materialize_ttl_after_modify = 0;
ALTER TABLE request_log REMOVE TTL;

-- From which month on all usage is kept. Written before rows of earlier months are removed; the latest month counts.
CREATE TABLE kept_usage (
  subject  LowCardinality(String)  COMMENT 'line_items, sums or statements',
  month    Date                    COMMENT 'first day, UTC',
  at       DateTime64(3, 'UTC')    COMMENT 'when it was written'
)
ENGINE = MergeTree
ORDER BY (subject, month)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1;

-- Earlier versions removed line items after 26 months, and sums after ten years: a store may lack them if it is older than that.
INSERT INTO kept_usage SELECT 'line_items', toStartOfMonth(subtractMonths(now('UTC'), 25)), now64(3)
FROM (SELECT min(at) AS at FROM schema_changes) AS made WHERE made.at < subtractMonths(now(), 26);
INSERT INTO kept_usage SELECT 'sums', toStartOfMonth(subtractMonths(now('UTC'), 119)), now64(3)
FROM (SELECT min(at) AS at FROM schema_changes) AS made WHERE made.at < subtractYears(now(), 10);

-- The usage that arrived after a month was closed, per price: kept when its line items are removed.
CREATE TABLE statement_corrections (
  month      Date                    COMMENT 'first day, UTC',
  tenant     LowCardinality(String),
  consumer   String,
  api        LowCardinality(String),
  currency   LowCardinality(String),
  price      Decimal(18, 6)          COMMENT 'of one resource unit',
  calls      Int64,
  units      Decimal(38, 6),
  amount     Decimal(38, 12)
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(month)
ORDER BY (tenant, consumer, month, api, currency, price)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

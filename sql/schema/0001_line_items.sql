-- Usage, in partial sums over 10-second windows. Rows add up: several may carry one key.
CREATE TABLE line_items (
  window_start  DateTime('UTC')           COMMENT 'start of the 10-second window, UTC',
  tenant        LowCardinality(String),
  api           LowCardinality(String)    COMMENT 'technical name, <name>-v<major>',
  operation     LowCardinality(String)    COMMENT 'operationId',
  consumer      String                    COMMENT 'id of the consumer; empty: anonymous',
  consumer_name String                    COMMENT 'its name at the time of the call',
  subscription  String,
  agent         String                    COMMENT 'id of the agent that called; empty: none',
  variant       LowCardinality(String)    COMMENT 'OpenSLA variant; empty: default tier',
  currency      LowCardinality(String)    COMMENT 'ISO 4217; empty: no price declared',
  price         Decimal(18, 6)            COMMENT 'of one resource unit',
  calls         UInt64                    COMMENT 'calls that were forwarded',
  units         Decimal(38, 6)            COMMENT 'resource units that were charged',
  amount        Decimal(38, 12)           COMMENT 'units times price'
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(window_start)
ORDER BY (tenant, api, window_start, consumer, operation, subscription)
TTL window_start + INTERVAL 26 MONTH
SETTINGS non_replicated_deduplication_window = 10000;

-- The same by the hour, for summaries over whole hours.
CREATE TABLE line_items_hourly (
  hour         DateTime('UTC'),
  tenant       LowCardinality(String),
  api          LowCardinality(String),
  operation    LowCardinality(String),
  consumer     String,
  subscription String,
  agent        String,
  currency     LowCardinality(String),
  calls        UInt64,
  units        Decimal(38, 6),
  amount       Decimal(38, 12)
)
ENGINE = SummingMergeTree((calls, units, amount))
PARTITION BY toYYYYMM(hour)
ORDER BY (tenant, hour, api, consumer, operation, subscription, agent, currency)
TTL hour + INTERVAL 10 YEAR
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW line_items_to_hourly TO line_items_hourly AS
SELECT
  toStartOfHour(window_start) AS hour,
  tenant, api, operation, consumer, subscription, agent, currency,
  sum(line_items.calls)  AS calls,
  sum(line_items.units)  AS units,
  sum(line_items.amount) AS amount
FROM line_items
GROUP BY hour, tenant, api, operation, consumer, subscription, agent, currency;

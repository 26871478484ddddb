-- The tables and views that the files of `schema` add up to, as the engine formats them. A start compares the store with this file,
-- and a contract test compares this file with the migrations.

CREATE TABLE flushes
(
    `instance` String COMMENT 'of the checkpoint that flushed',
    `number` UInt64 COMMENT 'counts up by one',
    `done` UInt8 COMMENT '1: all rows are in the store',
    `at` DateTime64(3, 'UTC'),
    `from_position` String COMMENT 'of the spool, as JSON',
    `to_position` String COMMENT 'of the spool, as JSON',
    `totals` String COMMENT 'rows and calls by month up to this flush, as JSON',
    `registry_end` UInt64 COMMENT 'position of the last change of the registry'
)
ENGINE = MergeTree
ORDER BY (instance, number, done)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 8192;

CREATE TABLE kept_usage
(
    `subject` LowCardinality(String) COMMENT 'line_items, sums or statements',
    `month` Date COMMENT 'first day, UTC',
    `at` DateTime64(3, 'UTC') COMMENT 'when it was written'
)
ENGINE = MergeTree
ORDER BY (subject, month)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 8192;

CREATE TABLE line_items
(
    `window_start` DateTime('UTC') COMMENT 'start of the 10-second window, UTC',
    `tenant` LowCardinality(String),
    `api` LowCardinality(String) COMMENT 'technical name, <name>-v<major>',
    `operation` LowCardinality(String) COMMENT 'operationId',
    `consumer` String COMMENT 'id of the consumer; empty: anonymous',
    `consumer_name` String COMMENT 'its name at the time of the call',
    `subscription` String,
    `agent` String COMMENT 'id of the agent that called; empty: none',
    `variant` LowCardinality(String) COMMENT 'OpenSLA variant; empty: default tier',
    `currency` LowCardinality(String) COMMENT 'ISO 4217; empty: no price declared',
    `price` Decimal(18, 6) COMMENT 'of one resource unit',
    `calls` UInt64 COMMENT 'calls that were forwarded',
    `units` Decimal(38, 6) COMMENT 'resource units that were charged',
    `amount` Decimal(38, 12) COMMENT 'units times price',
    `channel` LowCardinality(String) DEFAULT 'http',
    `writer` LowCardinality(String) COMMENT 'instance of the checkpoint that flushed' CODEC(ZSTD(1)),
    `flush_number` UInt64 COMMENT 'of the writer' CODEC(T64('bit'), ZSTD(1)),
    `revision` UInt32 COMMENT 'of the API; 0: unknown' CODEC(T64('bit'), ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(window_start)
ORDER BY (tenant, api, window_start, consumer, operation, subscription)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192, fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE line_items_hourly
(
    `hour` DateTime('UTC'),
    `tenant` LowCardinality(String),
    `api` LowCardinality(String),
    `operation` LowCardinality(String),
    `consumer` String,
    `subscription` String,
    `agent` String,
    `currency` LowCardinality(String),
    `calls` UInt64,
    `units` Decimal(38, 6),
    `amount` Decimal(38, 12),
    `writer` LowCardinality(String) COMMENT 'instance of the checkpoint that flushed' CODEC(ZSTD(1))
)
ENGINE = SummingMergeTree((calls, units, amount))
PARTITION BY toYYYYMM(hour)
PRIMARY KEY (tenant, hour, api, consumer, operation, subscription, agent, currency)
ORDER BY (tenant, hour, api, consumer, operation, subscription, agent, currency, writer)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192, fsync_after_insert = 1, fsync_part_directory = 1;

CREATE MATERIALIZED VIEW line_items_to_hourly TO line_items_hourly
(
    `hour` DateTime('UTC'),
    `tenant` LowCardinality(String),
    `api` LowCardinality(String),
    `operation` LowCardinality(String),
    `consumer` String,
    `subscription` String,
    `agent` String,
    `currency` LowCardinality(String),
    `writer` LowCardinality(String),
    `calls` UInt64,
    `units` Decimal(38, 6),
    `amount` Decimal(38, 12)
)
AS SELECT
    toStartOfHour(window_start) AS hour,
    tenant,
    api,
    operation,
    consumer,
    subscription,
    agent,
    currency,
    writer,
    sum(line_items.calls) AS calls,
    sum(line_items.units) AS units,
    sum(line_items.amount) AS amount
FROM line_items
GROUP BY
    hour,
    tenant,
    api,
    operation,
    consumer,
    subscription,
    agent,
    currency,
    writer;

CREATE TABLE request_log
(
    `at` DateTime64(3, 'UTC') COMMENT 'when the call ended, UTC',
    `tenant` LowCardinality(String),
    `api` LowCardinality(String),
    `operation` LowCardinality(String),
    `request_id` String,
    `status` UInt16,
    `outcome` LowCardinality(String) COMMENT 'served, or the code of the refusal',
    `consumer` String,
    `consumer_name` String,
    `subscription` String,
    `agent` String,
    `person` String COMMENT 'whom the agent acted for',
    `duration_us` UInt32,
    `upstream_us` UInt32,
    `request_bytes` UInt64,
    `response_bytes` UInt64,
    `units` Decimal(38, 6),
    `explanation` String,
    `channel` LowCardinality(String) DEFAULT 'http',
    `writer` LowCardinality(String) COMMENT 'instance of the checkpoint that flushed' CODEC(ZSTD(1)),
    `flush_number` UInt64 COMMENT 'of the writer' CODEC(T64('bit'), ZSTD(1)),
    `revision` UInt32 COMMENT 'of the API; 0: unknown' CODEC(T64('bit'), ZSTD(1)),
    INDEX by_request_id request_id TYPE bloom_filter GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toYYYYMMDD(at)
ORDER BY (tenant, at, request_id)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192;

CREATE TABLE risk_events
(
    `id` String COMMENT 'sorts by time',
    `tenant` LowCardinality(String),
    `risk_id` String,
    `at` DateTime64(3, 'UTC'),
    `body` String COMMENT 'the event as JSON'
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (tenant, id)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192;

CREATE TABLE schema_changes
(
    `file` String,
    `hash` String,
    `at` DateTime DEFAULT now()
)
ENGINE = MergeTree
ORDER BY file
SETTINGS index_granularity = 8192;

CREATE TABLE service_levels
(
    `minute` DateTime('UTC') COMMENT 'start of the minute, UTC',
    `tenant` LowCardinality(String),
    `api` LowCardinality(String) COMMENT 'technical name, <name>-v<major>',
    `operation` LowCardinality(String) COMMENT 'operationId',
    `calls` UInt64 COMMENT 'calls that were for the backend to serve',
    `unanswered` UInt64 COMMENT 'of them: refused, broken off or timed out by the backend',
    `errors` UInt64 COMMENT 'of them: answered with 5xx',
    `successes` UInt64 COMMENT 'of them: answered below 400',
    `latency_us` UInt64 COMMENT 'sum over successes, of the backend',
    `latency` Map(UInt16, UInt64) COMMENT 'successes by bucket of latency, sixteen to a power of two of microseconds',
    `writer` LowCardinality(String) COMMENT 'instance of the checkpoint that flushed' CODEC(ZSTD(1)),
    `flush_number` UInt64 COMMENT 'of the writer' CODEC(T64('bit'), ZSTD(1)),
    `revision` UInt32 COMMENT 'of the API; 0: unknown' CODEC(T64('bit'), ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(minute)
ORDER BY (tenant, api, minute, operation)
TTL minute + toIntervalMonth(13)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192;

CREATE TABLE statement_corrections
(
    `month` Date COMMENT 'first day, UTC',
    `tenant` LowCardinality(String),
    `consumer` String,
    `api` LowCardinality(String),
    `currency` LowCardinality(String),
    `price` Decimal(18, 6) COMMENT 'of one resource unit',
    `calls` Int64,
    `units` Decimal(38, 6),
    `amount` Decimal(38, 12)
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(month)
ORDER BY (tenant, consumer, month, api, currency, price)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 8192;

CREATE TABLE statement_lines
(
    `month` Date COMMENT 'first day, UTC',
    `tenant` LowCardinality(String),
    `consumer` String,
    `api` LowCardinality(String),
    `currency` LowCardinality(String),
    `price` Decimal(18, 6) COMMENT 'of one resource unit',
    `calls` UInt64,
    `units` Decimal(38, 6),
    `amount` Decimal(38, 12),
    `closed_at` DateTime64(3, 'UTC')
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(month)
ORDER BY (tenant, consumer, month, api, currency, price)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 8192;

CREATE TABLE usage_daily
(
    `day` Date COMMENT 'UTC',
    `tenant` LowCardinality(String),
    `api` LowCardinality(String),
    `consumer` String,
    `operation` LowCardinality(String),
    `subscription` String,
    `agent` String,
    `currency` LowCardinality(String),
    `calls` UInt64,
    `units` Decimal(38, 6),
    `amount` Decimal(38, 12)
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (tenant, api, consumer, day, operation, subscription, agent, currency)
SETTINGS index_granularity = 8192;

CREATE TABLE usage_daily_by_price
(
    `day` Date COMMENT 'UTC',
    `tenant` LowCardinality(String),
    `consumer` String,
    `api` LowCardinality(String),
    `currency` LowCardinality(String),
    `price` Decimal(18, 6) COMMENT 'of one resource unit',
    `calls` UInt64,
    `units` Decimal(38, 6),
    `amount` Decimal(38, 12)
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (tenant, consumer, day, api, currency, price)
SETTINGS index_granularity = 8192;

CREATE TABLE usage_hourly_by_api
(
    `hour` DateTime('UTC'),
    `tenant` LowCardinality(String),
    `api` LowCardinality(String),
    `operation` LowCardinality(String),
    `currency` LowCardinality(String),
    `calls` UInt64,
    `units` Decimal(38, 6),
    `amount` Decimal(38, 12)
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(hour)
ORDER BY (tenant, hour, api, operation, currency)
SETTINGS index_granularity = 8192;

CREATE TABLE usage_monthly
(
    `month` Date COMMENT 'first day, UTC',
    `tenant` LowCardinality(String),
    `api` LowCardinality(String),
    `consumer` String,
    `operation` LowCardinality(String),
    `subscription` String,
    `agent` String,
    `currency` LowCardinality(String),
    `calls` UInt64,
    `units` Decimal(38, 6),
    `amount` Decimal(38, 12)
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(month)
ORDER BY (tenant, api, consumer, operation, subscription, agent, currency)
SETTINGS index_granularity = 8192;

-- The insert that stored a row: the data folder, and the number of its flush, whose note in `flushes` has the range of the spool. The
-- engine recognises a repeated insert only for some time; these columns tell later as well, and let each of several nodes compare its
-- own rows. Earlier rows have none.
ALTER TABLE line_items
  ADD COLUMN IF NOT EXISTS writer LowCardinality(String) COMMENT 'instance of the checkpoint that flushed' CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS flush_number UInt64 COMMENT 'of the writer' CODEC(T64('bit'), ZSTD(1));
ALTER TABLE service_levels
  ADD COLUMN IF NOT EXISTS writer LowCardinality(String) COMMENT 'instance of the checkpoint that flushed' CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS flush_number UInt64 COMMENT 'of the writer' CODEC(T64('bit'), ZSTD(1));
ALTER TABLE request_log
  ADD COLUMN IF NOT EXISTS writer LowCardinality(String) COMMENT 'instance of the checkpoint that flushed' CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS flush_number UInt64 COMMENT 'of the writer' CODEC(T64('bit'), ZSTD(1));

-- Hourly totals add up, per writer.
ALTER TABLE line_items_hourly
  ADD COLUMN IF NOT EXISTS writer LowCardinality(String) COMMENT 'instance of the checkpoint that flushed' CODEC(ZSTD(1)),
  MODIFY ORDER BY (tenant, hour, api, consumer, operation, subscription, agent, currency, writer);
ALTER TABLE line_items_to_hourly MODIFY QUERY
SELECT
  toStartOfHour(window_start) AS hour,
  tenant, api, operation, consumer, subscription, agent, currency, writer,
  sum(line_items.calls)  AS calls,
  sum(line_items.units)  AS units,
  sum(line_items.amount) AS amount
FROM line_items
GROUP BY hour, tenant, api, operation, consumer, subscription, agent, currency, writer;

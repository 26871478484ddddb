-- Revision of the API that served a call. 0: an earlier version wrote the row, or the call was one of the platform API. Line items and
-- minutes of two revisions that serve at once are rows of their own, and add up as before.
ALTER TABLE line_items ADD COLUMN IF NOT EXISTS revision UInt32 COMMENT 'of the API; 0: unknown' CODEC(T64('bit'), ZSTD(1));
ALTER TABLE service_levels ADD COLUMN IF NOT EXISTS revision UInt32 COMMENT 'of the API; 0: unknown' CODEC(T64('bit'), ZSTD(1));
ALTER TABLE request_log ADD COLUMN IF NOT EXISTS revision UInt32 COMMENT 'of the API; 0: unknown' CODEC(T64('bit'), ZSTD(1));

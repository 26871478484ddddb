-- Each flush of a data folder, before its rows (done = 0) and after them (done = 1): how far the store is.
CREATE TABLE flushes (
  instance      String                COMMENT 'of the checkpoint that flushed',
  number        UInt64                COMMENT 'counts up by one',
  done          UInt8                 COMMENT '1: all rows are in the store',
  at            DateTime64(3, 'UTC'),
  from_position String                COMMENT 'of the spool, as JSON',
  to_position   String                COMMENT 'of the spool, as JSON',
  totals        String                COMMENT 'rows and calls by month up to this flush, as JSON',
  registry_end  UInt64                COMMENT 'position of the last change of the registry'
)
ENGINE = MergeTree
ORDER BY (instance, number, done)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1;

-- The checkpoint is synced when it moves: so are the rows that it stands for.
ALTER TABLE line_items MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;
ALTER TABLE line_items_hourly MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;

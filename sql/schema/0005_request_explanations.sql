-- Why a call was refused, and a way to find one call by its id. JSON as `src/domain/explanation.ts` writes it; never a value that a client sent.
ALTER TABLE request_log ADD COLUMN IF NOT EXISTS explanation String;
ALTER TABLE request_log ADD INDEX IF NOT EXISTS by_request_id request_id TYPE bloom_filter GRANULARITY 1;

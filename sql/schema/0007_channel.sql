-- How a call reached the gateway: plain HTTP, or a tool call over MCP.
ALTER TABLE line_items ADD COLUMN IF NOT EXISTS channel LowCardinality(String) DEFAULT 'http';
ALTER TABLE request_log ADD COLUMN IF NOT EXISTS channel LowCardinality(String) DEFAULT 'http';

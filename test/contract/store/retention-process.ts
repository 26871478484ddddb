/**
 * A process that removes usage whose retention has ended, and is killed meanwhile. It reports to its parent when it begins, and each
 * partition that it removed.
 *
 *   node retention-process.ts FOLDER NOW_MS
 */

import { openClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { readKeptUsage } from '../../../src/storage/store/clickhouse/kept-usage.ts'
import { createRetention } from '../../../src/storage/store/clickhouse/retention.ts'
import { SHORT } from './removed-usage.ts'

const [, , folder = '', nowMs = '0'] = process.argv
const client = openClickHouse({ url: null, folder })
const retention = createRetention({ client, days: SHORT, kept: await readKeptUsage(client) })
process.send?.('begun')
await retention.expire(Number(nowMs), { onRemoved: (table, period) => process.send?.(`${table} ${period}`) })
process.send?.('done')
// The parent ends it.
setInterval(() => {}, 60_000)

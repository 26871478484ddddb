/**
 * A process that inserts usage, some of it late, and rolls it up until it is killed. It reports each step to its parent.
 *
 *   node rollup-process.ts FOLDER SEED
 */

import { openClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createRollups } from '../../../src/storage/store/clickhouse/rollups.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'
import { batchOf } from './rollup-batches.ts'
import { NOW } from './random-usage.ts'

const [, , folder = '', seed = '0'] = process.argv
const client = openClickHouse({ url: null, folder })
const background = openClickHouse({ url: null, folder })
await migrate(client)
const rollups = createRollups(Object.assign(background, { newParts: client.newParts }))
const usage = createClickHouseUsageStore(client, { rollups })
for (let batch = 0; ; batch++) {
  process.send?.({ batch, step: 'begun' })
  await usage.insert(`batch-${batch}`, batchOf(Number(seed), batch))
  process.send?.({ batch, step: 'inserted' })
  const rolling = rollups.roll(NOW)
  process.send?.({ batch, step: 'rolling' })
  await rolling
  process.send?.({ batch, step: 'rolled' })
}

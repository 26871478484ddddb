/**
 * Stores what the spool of a node holds, as the node itself would after a restart.
 *
 * A flush that the node began is repeated with its recorded range. Only usage, service levels and the request log are stored: risks and
 * limits are not evaluated. Nothing is removed from the folder, so a node that starts on it afterwards continues from the same place.
 */

import { join } from 'node:path'
import { createFlusher, FlushAborted, type Flusher } from '../../pipeline/metering/flush.ts'
import { createMetering, type Metered, type Metering } from '../../pipeline/metering/metering.ts'
import type { RequestLogMode } from '../../pipeline/metering/request-log.ts'
import { isSame } from '../../storage/spool/spool-position.ts'
import { openSpoolReader, type SpoolReader } from '../../storage/spool/spool-reader.ts'
import { createSpoolGaugeMemory, openSpoolGauge } from '../../storage/spool/spool-gauge.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'
import type { ClickHouse } from '../../storage/store/clickhouse/client.ts'
import { createFlushLog } from '../../storage/store/clickhouse/flush-log.ts'
import { createClickHouseRequestStore } from '../../storage/store/clickhouse/request-store.ts'
import { createClickHouseServiceLevelStore } from '../../storage/store/clickhouse/service-level-store.ts'
import { createClickHouseUsageStore } from '../../storage/store/clickhouse/usage-store.ts'
import type { SqliteCheckpoint } from '../../storage/store/sqlite/checkpoint.ts'

export interface DrainOptions {
  readonly dataDir: string
  readonly client: ClickHouse
  readonly checkpoint: SqliteCheckpoint
  readonly requestLog: RequestLogMode
  readonly registryEnd: () => Promise<number>
  readonly clock: Clock
  readonly log: Log
}

export interface Drained {
  /** Calls that this run stored, without those of a flush that the node had begun. */
  readonly calls: number
  /** Number of a flush that the node had begun, and that is complete now. */
  readonly finished: number | null
  /** Places of the spool that could not be read. */
  readonly damages: number
}

/** As much as the service reads at once. */
const STRETCH_BYTES = 4 * 1024 * 1024
/** A flush that cannot be stored for so long ends the command, which can be repeated. */
const GIVE_UP_MS = 60_000

/** Throws `StartRefused` if the store does not take the rows. */
export async function drainSpool(options: DrainOptions): Promise<Drained> {
  let damages = 0
  const reader = openSpoolReader({
    folder: join(options.dataDir, 'spool'),
    gauge: openSpoolGauge(createSpoolGaugeMemory(), Number.MAX_SAFE_INTEGER),
    billed: options.checkpoint.position(),
    onDamage: () => damages++,
    onTornTail: () => {},
  })
  try {
    const finished = options.checkpoint.pending()?.number ?? null
    const calls = await storeAll(options, reader)
    return { calls, finished, damages }
  } catch (cause) {
    if (!(cause instanceof FlushAborted)) throw cause
    const store = options.client.isEmbedded ? 'the store of the folder' : 'CLICKHOUSE_URL: the server'
    const reason = `${store} has not stored anything for a minute; run the command again`
    throw new StartRefused(reason, { cause })
  } finally {
    reader.close()
  }
}

async function storeAll(options: DrainOptions, reader: SpoolReader): Promise<number> {
  const { client, checkpoint, requestLog, registryEnd, clock, log } = options
  const count = (): void => {}
  const flusher = createFlusher({
    checkpoint,
    usage: createClickHouseUsageStore(client),
    levels: createClickHouseServiceLevelStore(client),
    requests: createClickHouseRequestStore(client),
    flushLog: createFlushLog({
      client,
      isEmbedded: client.isEmbedded,
      instance: () => checkpoint.instance,
      nowMs: clock.nowMs,
      registryEnd,
    }),
    requestLog,
    clock,
    log,
    count,
  })
  const run = (work: () => Promise<void>): Promise<void> => withinTime(clock, flusher, work)
  await run(() => flusher.resume(reader))
  const metering = createMetering({ requestLog, count })
  let calls = 0
  for (let from = checkpoint.position(); ;) {
    const to = readUntilFull(reader, from, metering)
    if (isSame(from, to)) return calls
    const metered = metering.take()
    await run(() => flusher.flush(to, metered))
    calls += callsOf(metered)
    from = to
  }
}

function readUntilFull(
  reader: SpoolReader,
  from: ReturnType<SpoolReader['read']>,
  metering: Metering,
): ReturnType<SpoolReader['read']> {
  for (let position = from; ;) {
    const next = reader.read(position, metering.add, { bytesMax: STRETCH_BYTES })
    if (isSame(next, position) || metering.isFull) return next
    position = next
  }
}

async function withinTime(clock: Clock, flusher: Flusher, work: () => Promise<void>): Promise<void> {
  const cancel = clock.after(GIVE_UP_MS, () => flusher.stop())
  try {
    await work()
  } finally {
    cancel()
  }
}

function callsOf({ items }: Metered): number {
  return items.reduce((sum, { calls }) => sum + calls, 0)
}

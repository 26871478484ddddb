/** Accepts the loss of the checkpoint and adopts instance and position from the store. */

import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { ClickHouse } from '../store/clickhouse/client.ts'
import { lastNotes } from '../store/clickhouse/flush-notes.ts'
import type { FlushNote } from '../store/flush-log.ts'
import { openSqliteCheckpoint, type SqliteCheckpoint } from '../store/sqlite/checkpoint.ts'
import { DatabaseDamaged } from '../store/sqlite/open-database.ts'
import { positionsOf } from './agree.ts'
import { repairTo } from './compare.ts'
import type { Recovered } from './recover-registry.ts'
import { databaseFiles, setAside } from './set-aside.ts'
import { endOfSpool, spoolHolds } from './spool-holdings.ts'
import type { StoreClaims } from './store-claims.ts'

export interface RecoverCheckpointOptions {
  readonly dataDir: string
  readonly newInstance: () => string
  readonly clock: Clock
}

/** Opens the checkpoint. Moves a damaged file aside and creates a new one. */
export function openLostCheckpoint({
  dataDir,
  newInstance,
  clock,
}: RecoverCheckpointOptions): Recovered<SqliteCheckpoint> {
  const path = join(dataDir, 'checkpoint.db')
  const open = (): SqliteCheckpoint => openSqliteCheckpoint({ path, newInstance })
  const startAgain = (why: string): Recovered<SqliteCheckpoint> => {
    const folder = setAside(dataDir, databaseFiles('checkpoint'), clock.nowMs())
    return {
      opened: open(),
      loss: `${why}; open risks and limit counters are lost (the old file is in ${folder})`,
    }
  }
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return startAgain('checkpoint.db was missing')
  try {
    return { opened: open(), loss: 'checkpoint.db is an older copy; risks and limit counters since then may be lost' }
  } catch (cause) {
    if (cause instanceof DatabaseDamaged) return startAgain('checkpoint.db was damaged')
    throw cause
  }
}

/** Sets the checkpoint to the position of the store. Returns a description of the loss. */
export async function adoptStore(
  checkpoint: SqliteCheckpoint,
  options: {
    readonly client: ClickHouse
    readonly store: StoreClaims
    /** The instance in the manifest of the folder; null: unknown. */
    readonly instance: string | null
    readonly spoolFolder: string
    readonly registryEnd: number
  },
): Promise<string> {
  const { client, store, spoolFolder, registryEnd } = options
  const claims = checkpoint.claims()
  const notes = await lastNotes(client)
  const known = [claims.instance, options.instance]
  // On a server, the instance of another service must not be adopted: both would flush under one name.
  const note = pick(client.isEmbedded ? notes : notes.filter(({ instance }) => known.includes(instance)), known)
  const holds = spoolHolds(spoolFolder)
  if (note !== null) {
    const isRepeatable = note.isDone || Object.entries(note.from).every(([source, place]) => holds(source, place))
    const last = isRepeatable ? note : { ...note, isDone: true }
    const { repair } = repairTo({ ...positionsOf(checkpoint), checkpoint: claims, holds }, last)
    checkpoint.repair({ ...repair, registryEnd })
    const uncertain = isRepeatable
      ? ''
      : `; flush ${note.number} may lack rows, because its records are not in the spool`
    return `continuing from flush ${note.number}, the last one in the store${uncertain}`
  }
  // An earlier version wrote a store without notes: which records of the spool it holds is unknown.
  const position = store.hasRows ? endOfSpool(spoolFolder) : {}
  checkpoint.repair({
    instance: claims.instance,
    flushes: 0,
    position,
    pending: null,
    isNoted: false,
    registryEnd,
    riskPosition: position,
    limitPosition: position,
    levelPosition: null,
  })
  return store.hasRows
    ? 'calls in the spool that were not billed are lost'
    : 'every record in the spool will be stored again'
}

/** Returns the last note of the first instance that has one, else the latest note of any instance. */
function pick(notes: readonly FlushNote[], instances: readonly (string | null)[]): FlushNote | null {
  const known = instances.map((instance) => notes.find((note) => note.instance === instance))
  const latest = notes.toSorted((a, b) => b.atMs - a.atMs)[0]
  return known.find((note) => note !== undefined) ?? latest ?? null
}

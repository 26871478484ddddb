/**
 * The pipeline's checkpoint in its own SQLite file: flushes, risk episodes with their outbox, and counters of limits.
 *
 * Every method that changes something is one transaction that is on disk when the method returns.
 */

import type { Checkpoint, CheckpointClaims, CheckpointRepair, PendingFlush, SpoolPosition } from '../checkpoint.ts'
import type { LimitCheckpoint } from '../limit-checkpoint.ts'
import type { NameStore } from '../name-store.ts'
import type { LevelMark, RiskCheckpoint } from '../risk-checkpoint.ts'
import { openCheckpointFile, type CheckpointFile } from './checkpoint-file.ts'
import { openCounterTable } from './counter-table.ts'
import { openEpisodeTable } from './episode-table.ts'
import { openOutboxTable } from './outbox-table.ts'

export { matches } from './episode-table.ts'

/** About 200 MB, for a store that is unavailable for a long time. */
const OUTBOX_MAX = 200_000

export interface SqliteCheckpoint extends Checkpoint, RiskCheckpoint, LimitCheckpoint, NameStore {
  /** Distinguishes the insert tokens of this data folder from those of any other. */
  readonly instance: string
  /** Everything before this position was sent to other nodes as signals; null: none was. */
  signalPosition(): SpoolPosition | null
  saveSignalPosition(position: SpoolPosition | null): void
  claims(): CheckpointClaims
  /** Number of changes so far. */
  changes(): number
  /** Makes a change, so that copies of earlier runs have fewer. */
  beginRun(nowMs: number): void
  repair(repair: CheckpointRepair): void
  close(): void
}

export interface SqliteCheckpointOptions {
  readonly path: string
  readonly newInstance: () => string
  readonly outboxMax?: number
}

export function openSqliteCheckpoint(options: SqliteCheckpointOptions): SqliteCheckpoint {
  const { path, newInstance, outboxMax = OUTBOX_MAX } = options
  const file = openCheckpointFile(path)
  let instance = instanceOf(file, newInstance)

  return {
    ...flushCheckpoint(file),
    ...riskCheckpoint(file, outboxMax),
    ...limitCheckpoint(file),
    get instance() {
      return instance
    },
    signalPosition: () => file.state<SpoolPosition | null>('signal_position', null),
    saveSignalPosition: (position) => file.once(() => file.setState('signal_position', position)),
    claims: () => ({ instance, ...claimsOf(file) }),
    changes: () => file.changes,
    beginRun: (nowMs) => file.once(() => file.setState('run_began', nowMs)),
    repair(to) {
      repair(file, to)
      instance = to.instance
    },
    close: file.close,
  }
}

function instanceOf({ state, setState, once }: CheckpointFile, newInstance: () => string): string {
  const found = state('instance', '')
  if (found !== '') return found
  const instance = newInstance()
  once(() => setState('instance', instance))
  return instance
}

const positionIn = ({ state }: CheckpointFile): SpoolPosition => state<SpoolPosition>('position', {})
const pendingIn = ({ state }: CheckpointFile): PendingFlush | null => state<PendingFlush | null>('pending', null)
const levelMarkIn = ({ state }: CheckpointFile): LevelMark | null => state<LevelMark | null>('level_mark', null)

function flushCheckpoint(file: CheckpointFile): Checkpoint {
  const { state, setState, dropState, once } = file
  return {
    position: () => positionIn(file),
    pending: () => pendingIn(file),
    begin(to) {
      const flush: PendingFlush = { number: state('flushes', 0) + 1, from: positionIn(file), to, tokens: 'range' }
      once(() => setState('pending', flush))
      return flush
    },
    beginAgain(flush, attempt) {
      const again: PendingFlush = { ...flush, attempt }
      once(() => setState('pending', again))
      return again
    },
    commit(flush, registryEnd) {
      once(() => {
        setState('position', flush.to)
        setState('flushes', flush.number)
        if (flush.tokens === 'range') setState('noted', true)
        if (registryEnd !== undefined) setState('registry_end', registryEnd)
        dropState('pending')
      })
    },
  }
}

function claimsOf(file: CheckpointFile): Omit<CheckpointClaims, 'instance'> {
  const { state, wentBackBy } = file
  return {
    flushes: state('flushes', 0),
    position: positionIn(file),
    pending: pendingIn(file),
    isNoted: state('noted', false),
    registryEnd: state('registry_end', 0),
    wentBackBy,
  }
}

function repair(file: CheckpointFile, { levelPosition, pending, ...to }: CheckpointRepair): void {
  const { setState, dropState, once } = file
  const level = levelMarkIn(file)
  once(() => {
    setState('instance', to.instance)
    setState('flushes', to.flushes)
    setState('position', to.position)
    setState('noted', to.isNoted)
    setState('registry_end', to.registryEnd)
    setState('risk_position', to.riskPosition)
    setState('limit_position', to.limitPosition)
    if (pending === null) dropState('pending')
    else setState('pending', pending)
    if (levelPosition === null || level === null) dropState('level_mark')
    else setState('level_mark', { ...level, position: levelPosition })
  })
}

function riskCheckpoint(file: CheckpointFile, outboxMax: number): RiskCheckpoint & NameStore {
  const { database, state, setState, once } = file
  const episodeTable = openEpisodeTable(database)
  const outbox = openOutboxTable(file, outboxMax)
  return {
    riskPosition: () => state<SpoolPosition>('risk_position', {}),
    openEpisodes: episodeTable.open,
    lastEventId: () => state('last_event', ''),
    levelMark: () => levelMarkIn(file),
    commitRisk(position, episodes, events, clearedBeforeMs, level = null) {
      let dropped = 0
      once(() => {
        setState('risk_position', position)
        if (level !== null) setState('level_mark', level)
        const last = events.at(-1)
        if (last !== undefined) setState('last_event', last.id)
        dropped = outbox.add(events)
        episodeTable.save(episodes, clearedBeforeMs)
      })
      outbox.grew(events.length - dropped)
      return dropped
    },
    async replaceConsumerName(tenant, consumer, name) {
      let replaced = 0
      once(() => void (replaced = episodeTable.rename(tenant, consumer, name)))
      return replaced
    },
    clearedEpisode: episodeTable.clearedOne,
    clearedEpisodes: episodeTable.cleared,
    nextBatch: outbox.nextBatch,
    sent: outbox.sent,
    waiting: outbox.waiting,
  }
}

function limitCheckpoint({ database, state, setState, once }: CheckpointFile): LimitCheckpoint {
  const counters = openCounterTable(database)
  return {
    limitPosition: () => state<SpoolPosition>('limit_position', {}),
    countersOf: counters.of,
    saveCounters(position, saved, nowMs) {
      once(() => {
        setState('limit_position', position)
        counters.save(saved, nowMs)
      })
    },
  }
}

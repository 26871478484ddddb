/**
 * A pipeline on real bytes and a real checkpoint, whose process can be killed at any step it takes
 * towards a disk or a store, before or after the step has its effect.
 */

import { isDeepStrictEqual } from 'node:util'
import type { RiskEvent } from '../../../src/domain/risk.ts'
import { DEFAULT_RISK_RULES } from '../../../src/risk/risk-rules.ts'
import type { PromiseSource } from '../../../src/service-level/service-judge.ts'
import { createPipeline, type Pipeline } from '../../../src/stream/topology.ts'
import type { LimitSink } from '../../../src/stream/work.ts'
import { createIdFactory } from '../../../src/runtime/ids.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { matches, openSqliteCheckpoint, type SqliteCheckpoint } from '../../../src/store/sqlite/checkpoint.ts'
import type { LoggedRequest, RequestStore } from '../../../src/store/request-store.ts'
import type { ServiceLevelRow, ServiceLevelStore } from '../../../src/store/service-level-store.ts'
import type { LineItem, UsageStore } from '../../../src/store/usage-store.ts'
import { createHandClock, type HandClock } from './hand-clock.ts'
import { createMemorySpool, type MemorySpool } from './memory-spool.ts'

export interface World {
  readonly spool: MemorySpool
  readonly items: readonly LineItem[]
  /** Calls in the measures of the providers' side. */
  readonly measured: number
  /** Calls in the request log. */
  readonly logged: readonly LoggedRequest[]
  readonly inserts: readonly string[]
  /** Notes of flushes in the store, in order. */
  readonly noted: readonly { readonly number: number; readonly isDone: boolean }[]
  /** Events in the store's history. */
  readonly history: readonly RiskEvent[]
  /** Events that subscribers were told. */
  readonly told: readonly RiskEvent[]
  readonly counted: ReadonlyMap<string, number>
  readonly clock: HandClock
  readonly pipeline: Pipeline
  readonly checkpoint: SqliteCheckpoint
  /** Steps taken by this process. */
  readonly steps: number
  readonly isDead: boolean
  /** Calls that the metrics know of. */
  readonly called: number
  /** How the store answers: throws where it is away. */
  away: boolean
  /** What counts calls for their limits. */
  limits: LimitSink
  promises: PromiseSource
  /** Whether the next step fails, for a moment and without effect. */
  fails: () => boolean
  start(dieAt?: number): Promise<void>
  close(): void
}

/** No call has limits. */
export const NO_LIMITS: LimitSink = { add() {}, changed: 0, take: () => [], saved() {}, reset() {} }

/** Nothing is promised. */
export const NO_PROMISES: PromiseSource = { of: () => [], isAny: false }

export class Died extends Error {}

export async function createWorld(path: string, startMs: number): Promise<World> {
  const spool = createMemorySpool()
  const tokens = new Map<string, readonly LineItem[]>()
  const requestTokens = new Map<string, readonly LoggedRequest[]>()
  const levelTokens = new Map<string, readonly ServiceLevelRow[]>()
  const items: LineItem[] = []
  const inserts: string[] = []
  const noted: { number: number; isDone: boolean }[] = []
  const historyTokens = new Set<string>()
  const history: RiskEvent[] = []
  const told: RiskEvent[] = []
  const counted = new Map<string, number>()
  const log = createLog('silent')
  let clock = createHandClock(startMs)
  let checkpoint = openSqliteCheckpoint({ path, newInstance: () => 'here' })
  let pipeline: Pipeline | null = null
  let steps = 0
  let dieAt = Infinity
  let isDead = false
  let called = 0

  /** Every step counts twice: to die before its effect, and after it. */
  function step<T>(effect: () => T): T {
    if (isDead) throw new Died()
    die()
    if (world.fails()) throw new Error('it did not work this time')
    const result = effect()
    die()
    return result
  }

  function die(): void {
    if (++steps < dieAt) return
    isDead = true
    clock.kill()
    throw new Died()
  }

  const insert: UsageStore['insert'] = async (token, rows) => {
    step(() => {
      if (world.away) throw new Error('the store is away')
      inserts.push(token)
      const before = tokens.get(token)
      if (before !== undefined && !isDeepStrictEqual(before, rows)) throw new Error(`other rows under token ${token}`)
      if (before !== undefined) return
      tokens.set(token, rows)
      for (const row of rows) items.push(row)
    })
  }

  const insertLevels: ServiceLevelStore['insert'] = async (token, rows) => {
    step(() => {
      if (world.away) throw new Error('the store is away')
      const before = levelTokens.get(token)
      if (before !== undefined && !isDeepStrictEqual(before, rows)) throw new Error(`other rows under token ${token}`)
      if (before === undefined) levelTokens.set(token, rows)
    })
  }

  const insertRequests: RequestStore['insert'] = async (token, rows) => {
    step(() => {
      if (world.away) throw new Error('the store is away')
      const before = requestTokens.get(token)
      if (before !== undefined && !isDeepStrictEqual(before, rows)) throw new Error(`other rows under token ${token}`)
      if (before === undefined) requestTokens.set(token, rows)
    })
  }

  const world = {
    get logged() {
      return [...requestTokens.values()].flat()
    },
    get measured() {
      return [...levelTokens.values()].flat().reduce((sum, { calls }) => sum + calls, 0)
    },
    spool,
    items,
    inserts,
    noted,
    history,
    told,
    counted,
    away: false,
    limits: NO_LIMITS,
    promises: NO_PROMISES,
    fails: () => false,
    get clock() {
      return clock
    },
    get pipeline() {
      return pipeline!
    },
    get checkpoint() {
      return checkpoint
    },
    get steps() {
      return steps
    },
    get called() {
      return called
    },
    get isDead() {
      return isDead
    },
    async start(at = Infinity) {
      const nowMs = clock.nowMs()
      clock.kill()
      checkpoint.close()
      checkpoint = openSqliteCheckpoint({ path, newInstance: () => 'other' })
      clock = createHandClock(nowMs)
      steps = 0
      isDead = false
      dieAt = at
      const { begin, commit, commitRisk, saveCounters, sent, nextBatch } = checkpoint
      pipeline = createPipeline({
        reader: {
          ...spool,
          read: (...args) => {
            if (isDead) throw new Died()
            const end = spool.read(...args)
            if (world.fails()) throw new Error('the disk broke half-way')
            return end
          },
          release: (position) => step(() => spool.release(position)),
        },
        checkpoint: {
          ...checkpoint,
          begin: (to) => step(() => begin(to)),
          commit: (flush) => step(() => commit(flush)),
          saveCounters: (...args) => step(() => saveCounters(...args)),
          commitRisk: (...args) => step(() => commitRisk(...args)),
          nextBatch: () => step(() => nextBatch()),
          sent: (batch) => step(() => sent(batch)),
        },
        usage: { insert },
        levels: { insert: insertLevels },
        requests: { insert: insertRequests },
        flushLog: {
          held: async ({ number }) => {
            const isDone = noted.some((note) => note.number === number && note.isDone)
            return isDone ? { isDone, items: 'there', levels: 'there', registryEnd: 0 } : null
          },
          begin: async (flush) => step(() => void noted.push({ number: flush.number, isDone: false })),
          done: async (flush) => step(() => noted.push({ number: flush.number, isDone: true })),
        },
        requestLog: 'refused',
        riskStore: {
          insert: async (token, events) =>
            step(() => {
              if (world.away) throw new Error('the store is away')
              if (historyTokens.has(token)) return
              historyTokens.add(token)
              history.push(...events)
            }),
          eventsOf: async (tenant, riskId) =>
            history.filter((event) => event.tenant === tenant && event.riskId === riskId),
          eventsAfter: async (tenant, afterId, limit) => {
            if (world.away) throw new Error('the store is away')
            return history.filter((event) => event.tenant === tenant && event.id > afterId).slice(0, limit)
          },
        },
        rules: DEFAULT_RISK_RULES,
        limits: world.limits,
        promises: world.promises,
        matches,
        clock,
        createId: createIdFactory(clock.nowMs),
        log,
        count: (reason, by = 1) => counted.set(reason, (counted.get(reason) ?? 0) + by),
        onCalls: (calls) => (called += calls.reduce((sum, each) => sum + each.calls, 0)),
      })
      void pipeline.start()
      await pipeline.risks.subscribe('acme', null, (event) => told.push(event))
    },
    close() {
      clock.kill()
      checkpoint.close()
    },
  }
  return world
}

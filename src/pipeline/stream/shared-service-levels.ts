/**
 * Judges the service levels of several nodes: each minute once, over the calls of all nodes, from the store.
 *
 * One node does it at a time. A minute is judged fifteen seconds after its end, when all nodes have stored its calls; what is stored
 * later is not judged. The minutes that were judged are noted together with their signals, so that none is judged twice. After a
 * longer pause only the last hour is judged.
 */

import { createSignalReducer, type SignalReducer } from '../risk/signal-reducer.ts'
import { providerOf } from '../risk/attributed-party.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import { brokenIn, LASTING_MINUTES, type PromiseSource } from '../service-level/service-evaluator.ts'
import type { SpoolPosition } from '../../storage/store/checkpoint.ts'
import {
  SERVICE_WINDOW_MS,
  type ServiceLevelRow,
  type ServiceLevelStore,
} from '../../storage/store/service-level-store.ts'
import type { SignalStore } from '../../storage/store/shared-risks.ts'

/** Promises with the APIs that have any. */
export interface ListedPromises extends PromiseSource {
  apis(): readonly string[]
}

export interface SharedServiceLevelsOptions {
  readonly signals: SignalStore
  readonly levels: Pick<ServiceLevelStore, 'minutes'>
  readonly promises: ListedPromises
  readonly clock: Pick<Clock, 'nowMs' | 'every'>
  readonly log: Log
  readonly count: CountEvent
}

export interface SharedServiceLevels {
  start(): Promise<void>
  stop(): Promise<void>
}

const SOURCE = 'service-levels'
const EVERY_MS = 5_000
const GRACE_MS = 15_000
/** Minutes that are judged together. */
const BATCH_MINUTES = 10
const LATE_MINUTES = 60

export function createSharedServiceLevels(options: SharedServiceLevelsOptions): SharedServiceLevels {
  const { clock, log, count } = options
  let judging: Promise<void> | null = null
  let stopTicking = (): void => {}

  async function run(): Promise<void> {
    try {
      while (await judgeNext(options));
    } catch (cause) {
      count('service_level_not_judged')
      log.warn({ err: cause }, 'service levels of a minute could not be judged; retrying in five seconds')
    }
  }

  return {
    async start() {
      stopTicking = clock.every(EVERY_MS, () => {
        judging ??= run().finally(() => (judging = null))
      })
    },
    async stop() {
      stopTicking()
      await judging
    },
  }
}

/** Judges the next minutes; returns whether there may be more. */
async function judgeNext({ signals, levels, promises, clock, count }: SharedServiceLevelsOptions): Promise<boolean> {
  if (!promises.isAny) return false
  const last = Math.floor((clock.nowMs() - GRACE_MS) / SERVICE_WINDOW_MS) - 1
  const { sequence, position } = await signals.openSource(SOURCE, toPosition(last))
  const from = Math.max(minuteIn(position) + 1, last - LATE_MINUTES + 1)
  const to = Math.min(last, from + BATCH_MINUTES - 1)
  if (to < from) return false
  const first = from - LASTING_MINUTES + 1
  const range = { fromMs: first * SERVICE_WINDOW_MS, toMs: (to + 1) * SERVICE_WINDOW_MS }
  const rows = await levels.minutes({ apis: promises.apis(), ...range })
  const reducer = createSignalReducer({ onMerged: () => count('risk_signal_merged') })
  for (const ofApi of Map.groupBy(rows, ({ tenant, api }) => JSON.stringify([tenant, api])).values()) {
    judgeApi(ofApi, promises, { first, from, to }, reducer)
  }
  await signals.send({ source: SOURCE, expected: sequence, position: toPosition(to), signals: reducer.take() })
  return to < last
}

/** `first`: how many minutes before `from` count as consecutive. */
interface Minutes {
  readonly first: number
  readonly from: number
  readonly to: number
}

function judgeApi(
  rows: readonly ServiceLevelRow[],
  promises: PromiseSource,
  { first, from, to }: Minutes,
  reducer: SignalReducer,
): void {
  const { tenant, api } = rows[0]!
  const plans = promises.of(api)
  const byMinute = Map.groupBy(rows, ({ minuteMs }) => minuteMs)
  const key = { tenant, type: 'ServiceLevelBreach', api, attributedTo: providerOf(tenant) } as const
  let streak = 0
  for (let minute = first; minute <= to; minute++) {
    const minuteMs = minute * SERVICE_WINDOW_MS
    const broken = brokenIn(plans, minuteMs, byMinute.get(minuteMs) ?? [])
    streak = broken.size === 0 ? 0 : streak + 1
    if (minute < from) continue
    for (const [measure, isByFar] of broken) {
      const isGrave = isByFar || streak >= LASTING_MINUTES
      const timeMs = minuteMs + SERVICE_WINDOW_MS
      reducer.addOccurrence(key, { timeMs, status: 0, reason: measure, isGrave, operation: '', requestId: '' })
    }
  }
}

/** A source has a position of the spool; this one has the number of the last minute in its place. */
function toPosition(minute: number): SpoolPosition {
  return { [SOURCE]: { segment: minute, offset: 0 } }
}

function minuteIn(position: SpoolPosition): number {
  return position[SOURCE]?.segment ?? 0
}

/**
 * Compares each canary with the active revision of its API once a minute, over the calls of all nodes in the last five minutes, and notes
 * those that fail. A note is a risk of the provider; it clears when no other one follows for five minutes, because the canary has ended
 * or does not fail any more.
 *
 * One node does it at a time. If another one continues, a canary that failed only a little has to fail clearly again.
 */

import { listAll } from '../command/page.ts'
import { CANARY_KEY, canaryOf, PROXY_KIND } from '../publishing/proxy-document.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import type { Registry } from '../../storage/store/registry.ts'
import {
  SERVICE_WINDOW_MS,
  type RevisionMeasure,
  type ServiceLevelStore,
} from '../../storage/store/service-level-store.ts'
import { CALLS_MIN, isCanaryFailing } from './canary-failure.ts'

export interface CanaryWatchOptions {
  readonly registry: Pick<Registry, 'list'>
  readonly levels: Pick<ServiceLevelStore, 'revisions'>
  /** Records that the canary of an API fails. `which`: its revision, and the active one. */
  readonly note: (tenant: string, api: string, which: string) => Promise<void>
  readonly clock: Pick<Clock, 'nowMs' | 'every'>
  readonly log: Pick<Log, 'warn' | 'info'>
  readonly count: CountEvent
}

export interface CanaryWatch {
  start(): Promise<void>
  stop(): Promise<void>
}

const EVERY_MS = 60_000
/** The minute that runs is one of them. */
const MINUTES = 5
/** For an active revision with few calls. */
const MINUTES_LONG = 60
/** The document of a proxy has its revisions, and may be large. */
const BATCH_MAX = 10

interface Canary {
  readonly tenant: string
  readonly api: string
  readonly revision: number
  readonly active: number
}

export function createCanaryWatch(options: CanaryWatchOptions): CanaryWatch {
  const { clock, log, count } = options
  /** Keys of the canaries that failed when they were compared. */
  let failing: ReadonlySet<string> = new Set()
  let comparing: Promise<void> | null = null
  let stopTicking = (): void => {}
  let isStopped = false

  async function compareAll(): Promise<void> {
    const next = new Set<string>()
    for (const canary of await runningCanaries(options.registry)) {
      if (isStopped) return
      const key = JSON.stringify([canary.tenant, canary.api, canary.revision, canary.active])
      if (await compareOne(canary, failing.has(key))) next.add(key)
    }
    failing = next
  }

  /** Returns whether the canary fails. If that cannot be found out, it is assumed to be as before. */
  async function compareOne(canary: Canary, wasFailing: boolean): Promise<boolean> {
    const { tenant, api, revision, active } = canary
    try {
      const isFailing = await isFailingNow(options, canary, wasFailing)
      if (isFailing) await options.note(tenant, api, `revision ${revision} of ${api}, compared with revision ${active}`)
      if (isFailing !== wasFailing) {
        log[isFailing ? 'warn' : 'info'](
          { tenant, api, revision, activeRevision: active },
          isFailing ? 'a canary fails more often than the active revision' : 'a canary does not fail any more',
        )
      }
      return isFailing
    } catch (cause) {
      count('canary_not_judged')
      log.warn({ err: cause, api }, 'a canary could not be compared with the active revision; retrying in a minute')
      return wasFailing
    }
  }

  return {
    async start() {
      const run = (): Promise<void> =>
        compareAll().catch((cause: unknown) => {
          count('canary_not_judged')
          log.warn({ err: cause }, 'canaries could not be read; they are compared in a minute')
        })
      stopTicking = clock.every(EVERY_MS, () => {
        comparing ??= run().finally(() => (comparing = null))
      })
    },
    async stop() {
      isStopped = true
      stopTicking()
      await comparing
    },
  }
}

async function runningCanaries(registry: Pick<Registry, 'list'>): Promise<readonly Canary[]> {
  const canaries: Canary[] = []
  for await (const { tenant, body } of listAll(registry, PROXY_KIND, {
    where: { [CANARY_KEY]: 'true' },
    limit: BATCH_MAX,
  })) {
    const { activeRevision: active } = body.actor.context
    const canary = canaryOf(body)
    if (canary !== null && active !== null) canaries.push({ tenant, api: body.api, revision: canary.revision, active })
  }
  return canaries
}

async function isFailingNow(options: CanaryWatchOptions, canary: Canary, wasFailing: boolean): Promise<boolean> {
  const { revision, active } = canary
  const measured = await measure(options, canary, MINUTES)
  const ofCanary = measured.get(revision)
  if (ofCanary === undefined) return false
  const ofActive = measured.get(active) ?? (await measure(options, canary, MINUTES_LONG)).get(active)
  return isCanaryFailing(ofCanary, ofActive ?? null, wasFailing)
}

/** Returns the revisions that were called often enough, by number. */
async function measure(
  { levels, clock }: Pick<CanaryWatchOptions, 'levels' | 'clock'>,
  { tenant, api }: Canary,
  minutes: number,
): Promise<ReadonlyMap<number, RevisionMeasure>> {
  const toMs = clock.nowMs()
  const fromMs = toMs - (toMs % SERVICE_WINDOW_MS) - (minutes - 1) * SERVICE_WINDOW_MS
  const measured = await levels.revisions({ tenant, api, fromMs, toMs })
  return new Map(measured.filter(({ calls }) => calls >= CALLS_MIN).map((each) => [each.revision, each]))
}

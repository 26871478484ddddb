/**
 * Reports call records that are missing: an error in the log, two counters, and the Critical Governance risk
 * `RecordsDamaged` of the operator's tenant.
 *
 * Damage found before the platform can record is queued and raised later. A risk that the disk refuses is retried every ten
 * seconds. The queue is bounded: beyond the bound, damage is merged into the last entry.
 */

import { PLATFORM_API } from '../../../foundation/domain/platform-api.ts'
import type { PlatformRecorder } from './platform-recorder.ts'
import { damageText, mergeDamage, type Damage, type OnDamage } from '../../../storage/spool/damage.ts'
import type { CountEvent } from '../../../foundation/runtime/event-reasons.ts'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import type { Log } from '../../../foundation/runtime/log.ts'
import type { Metrics } from '../../../foundation/runtime/metrics.ts'

export interface DamageReport {
  readonly report: OnDamage
  /** Raises queued and future damage as risks of `tenant`. Returns the function that stops retries. */
  connect(recorder: Pick<PlatformRecorder, 'note'>, tenant: string): () => void
}

export interface DamageReportOptions {
  readonly metrics: Pick<Metrics, 'counter'>
  readonly clock: Clock
  readonly log: Pick<Log, 'warn' | 'error'>
  readonly count: CountEvent
}

const RETRY_MS = 10_000
const QUEUED_MAX = 1_000

export function createDamageReport({ metrics, clock, log, count }: DamageReportOptions): DamageReport {
  const missing = metrics.counter('records_damaged_total', 'Call records that are missing because a file is damaged', [
    'number',
  ])
  let queued: Damage[] = []
  let raise: ((damage: Damage) => void) | null = null

  function report(damage: Damage): void {
    const { file, what, records, isExact, isUncertain = false } = damage
    const detail = { file, records, isExact, fromTime: toTime(damage.fromMs), toTime: toTime(damage.toMs) }
    if (records === 0 && isExact) {
      count('file_damaged')
      return log.warn(detail, `${what} No call records are missing.`)
    }
    if (isUncertain) {
      count('records_uncertain', records)
      log.error(detail, `${what} They are billed as long as this machine runs; a power cut may take them.`)
    } else {
      count('records_damaged')
      missing.inc({ number: isExact ? 'exact' : 'at_least' }, records)
      const effect = records === 0 ? 'Call records may be missing' : 'Call records are missing'
      log.error(detail, `${what} ${effect}; the service continues without them.`)
    }
    if (raise === null) enqueue(damage)
    else raise(damage)
  }

  function enqueue(damage: Damage): void {
    if (queued.length < QUEUED_MAX) queued.push(damage)
    else queued.push({ ...mergeDamage(queued.pop()!, damage), file: 'several files' })
  }

  return {
    report,
    connect(recorder, tenant) {
      raise = (damage) => {
        recorder.note('records_damaged', tenant, PLATFORM_API, null, damageText(damage)).catch((cause: unknown) => {
          log.error({ err: cause }, 'the risk RecordsDamaged could not be recorded; retrying in 10 s')
          enqueue(damage)
        })
      }
      const raiseQueued = (): void => {
        const damages = queued
        queued = []
        for (const damage of damages) raise?.(damage)
      }
      raiseQueued()
      return clock.every(RETRY_MS, raiseQueued)
    },
  }
}

function toTime(timeMs: number | null): string | null {
  return timeMs === null ? null : new Date(timeMs).toISOString()
}

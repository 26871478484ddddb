/**
 * Tells the gateway's own tenant when the spool fills up: from 80 per cent a Warning, from 95 Critical. It
 * is said again while it lasts, so that the episode stays open, and clears by itself when room is there.
 */

import { PLATFORM_API } from '../domain/platform-api.ts'
import type { PlatformRecorder } from './platform-recorder.ts'
import type { SpoolGauge } from '../record/spool-gauge.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'

export interface SpoolPressureOptions {
  readonly gauge: Pick<SpoolGauge, 'share'>
  readonly recorder: Pick<PlatformRecorder, 'note'>
  readonly tenant: string
  readonly clock: Clock
  readonly log: Pick<Log, 'warn' | 'error'>
}

const LOOK_EVERY_MS = 1_000
const SAY_AGAIN_MS = 10_000
const HIGH_FROM = 0.8
const CRITICAL_FROM = 0.95

/** Returns how to stop. */
export function watchSpool({ gauge, recorder, tenant, clock, log }: SpoolPressureOptions): () => void {
  let saidMs = -Infinity
  let isCritical = false

  function look(): void {
    const { share } = gauge
    if (share < HIGH_FROM) {
      saidMs = -Infinity
      isCritical = false
      return
    }
    const isCriticalNow = share >= CRITICAL_FROM
    const isWorse = isCriticalNow && !isCritical
    isCritical = isCriticalNow
    const nowMs = clock.nowMs()
    if (!isWorse && nowMs - saidMs < SAY_AGAIN_MS) return
    saidMs = nowMs
    log.warn({ usedPercent: Math.round(share * 100) }, 'the spool is filling up: is the store away?')
    recorder.note(isCritical ? 'spool_critical' : 'spool_high', tenant, PLATFORM_API, null).catch((cause: unknown) => {
      log.error({ err: cause }, 'the pressure on the spool could not be recorded')
    })
  }

  return clock.every(LOOK_EVERY_MS, look)
}

/**
 * Raises a risk of the operator's tenant when the spool fills up: a Warning from 80 per cent, Critical from 95. It is repeated
 * while the pressure lasts, so that the episode stays open; without repetition the episode clears.
 */

import { PLATFORM_API } from '../../../foundation/domain/platform-api.ts'
import type { PlatformRecorder } from './platform-recorder.ts'
import type { SpoolGauge } from '../../../storage/spool/spool-gauge.ts'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import { restOfPause } from '../../../foundation/runtime/rest-of-pause.ts'
import type { Log } from '../../../foundation/runtime/log.ts'

export interface SpoolPressureOptions {
  readonly gauge: Pick<SpoolGauge, 'share'>
  readonly recorder: Pick<PlatformRecorder, 'note'>
  readonly tenant: string
  readonly clock: Clock
  readonly log: Pick<Log, 'warn' | 'error'>
}

const CHECK_INTERVAL_MS = 1_000
const REPEAT_MS = 10_000
const HIGH_FROM = 0.8
const CRITICAL_FROM = 0.95

/** Checks the spool once a second; returns the function that stops it. */
export function watchSpool({ gauge, recorder, tenant, clock, log }: SpoolPressureOptions): () => void {
  let raisedMs = -Infinity
  let isCritical = false

  function check(): void {
    const { share } = gauge
    if (share < HIGH_FROM) {
      raisedMs = -Infinity
      isCritical = false
      return
    }
    const isCriticalNow = share >= CRITICAL_FROM
    const isWorse = isCriticalNow && !isCritical
    isCritical = isCriticalNow
    const nowMs = clock.nowMs()
    if (!isWorse && restOfPause(raisedMs + REPEAT_MS, REPEAT_MS, nowMs) > 0) return
    raisedMs = nowMs
    log.warn({ usedPercent: Math.round(share * 100) }, 'spool is filling up; check whether the store is reachable')
    recorder.note(isCritical ? 'spool_critical' : 'spool_high', tenant, PLATFORM_API, null).catch((cause: unknown) => {
      log.error({ err: cause }, 'risk of spool pressure could not be recorded; retrying in 10 s')
    })
  }

  return clock.every(CHECK_INTERVAL_MS, check)
}

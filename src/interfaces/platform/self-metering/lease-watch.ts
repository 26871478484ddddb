/**
 * Raises a Critical risk of the operator's tenant while the limits that nodes share cannot be counted. It is repeated, so that its
 * episode stays open.
 */

import { PLATFORM_API } from '../../../foundation/domain/platform-api.ts'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import { restOfPause } from '../../../foundation/runtime/rest-of-pause.ts'
import type { Log } from '../../../foundation/runtime/log.ts'
import type { PlatformRecorder } from './platform-recorder.ts'

export interface LeaseWatchOptions {
  readonly leases: { readonly isUnavailable: boolean }
  readonly recorder: Pick<PlatformRecorder, 'note'>
  readonly tenant: string
  readonly clock: Clock
  readonly log: Pick<Log, 'error'>
}

const CHECK_INTERVAL_MS = 1_000
const REPEAT_MS = 10_000

/** Checks once a second; returns the function that stops it. */
export function watchLeases({ leases, recorder, tenant, clock, log }: LeaseWatchOptions): () => void {
  let raisedMs = -Infinity
  return clock.every(CHECK_INTERVAL_MS, () => {
    const nowMs = clock.nowMs()
    if (!leases.isUnavailable) raisedMs = -Infinity
    else if (restOfPause(raisedMs + REPEAT_MS, REPEAT_MS, nowMs) === 0) {
      raisedMs = nowMs
      recorder.note('limits_not_shared', tenant, PLATFORM_API, null).catch((cause: unknown) => {
        log.error({ err: cause }, 'risk of limits that are not shared could not be recorded; retrying in 10 s')
      })
    }
  })
}

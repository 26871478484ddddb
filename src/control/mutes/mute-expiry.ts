/** Ends mutes at their time, and removes those that ended a month ago. */

import type { DueTime } from '../command/due-times.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Registry } from '../../storage/store/registry.ts'
import { endWrites, MUTE_KIND, removalMs } from './mute-document.ts'

export interface MuteExpiryOptions {
  readonly registry: Pick<Registry, 'get' | 'commit'>
  readonly clock: Pick<Clock, 'nowMs'>
}

/** The scheduler retries a run that meets another change. */
export function createMuteExpiry({ registry, clock }: MuteExpiryOptions) {
  return async ({ subject }: Pick<DueTime, 'subject'>): Promise<void> => {
    const mute = await registry.get(MUTE_KIND, subject)
    if (mute === null) return
    const { id, tenant, revision, body } = mute
    const author = { tenant, consumer: 'system' }
    const nowMs = clock.nowMs()
    if (body.endedAtMs === undefined) {
      if (body.untilMs <= nowMs) await registry.commit(author, 'mute.expire', endWrites(mute, body.untilMs))
    } else if (removalMs(body.endedAtMs) <= nowMs) {
      const write = { kind: MUTE_KIND, id, tenant, expected: revision, body: null }
      await registry.commit(author, 'mute.remove', [write])
    }
  }
}

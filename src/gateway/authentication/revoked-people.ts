/**
 * People whose tokens of this gateway were revoked: tokens that do not name the latest revocation are refused.
 *
 * So one revocation covers all tokens of a person that were issued before it, on any node and by any clock. It is kept until the last
 * of them has expired. `has` costs one comparison while none is kept.
 */

import { covers, type RevokedPerson } from '../../boundary/plan/gateway-port.ts'
import type { VerifiedToken } from './verified-token.ts'

export interface RevokedPeople {
  /** Returns false if the set is full; the person is then not added. */
  add(person: RevokedPerson): boolean
  /** Whether the token is revoked. */
  has(token: Pick<VerifiedToken, 'subject' | 'jti' | 'revocation'>, nowMs: number): boolean
  /** Returns the revocations that are still needed. */
  live(nowMs: number): readonly RevokedPerson[]
}

/** About 100 MB per thread. */
const PEOPLE_MAX = 500_000
const PRUNED_PER_ADD = 4

export function createRevokedPeople(nowMs: () => number, peopleMax = PEOPLE_MAX): RevokedPeople {
  /** The oldest first, because every change moves a person to the end. */
  const marks = new Map<string, RevokedPerson>()
  let lastMs = 0

  function prune(timeMs: number): void {
    let visited = 0
    for (const [person, { untilMs }] of marks) {
      if (untilMs > timeMs || ++visited > PRUNED_PER_ADD) return
      marks.delete(person)
    }
  }

  return {
    add(revoked) {
      const timeMs = nowMs()
      prune(timeMs)
      if (revoked.untilMs <= timeMs) return true
      const known = marks.get(revoked.person)
      if (known === undefined && marks.size >= peopleMax) return false
      marks.delete(revoked.person)
      const before = known !== undefined && known.before > revoked.before ? known.before : revoked.before
      marks.set(revoked.person, { ...revoked, before })
      lastMs = Math.max(lastMs, revoked.untilMs)
      return true
    },
    has({ subject, jti, revocation }, timeMs) {
      if (lastMs === 0) return false
      if (lastMs > timeMs) {
        const known = marks.get(subject)
        return known !== undefined && covers(known, jti, revocation)
      }
      marks.clear()
      lastMs = 0
      return false
    },
    live: (timeMs) => [...marks.values()].filter(({ untilMs }) => untilMs > timeMs),
  }
}

/**
 * People whose tokens of this gateway were revoked: tokens with an id up to a mark are refused.
 *
 * Ids of tokens sort in order of creation, so one mark covers all tokens of a person, and a token that is issued later counts. A
 * mark is kept until the last of its tokens has expired. `has` costs one comparison while no mark is kept.
 */

import type { RevokedPerson } from '../../plan/gateway-port.ts'

export interface RevokedPeople {
  /** Returns false if the set is full; the person is then not added. */
  add(person: RevokedPerson): boolean
  /** Whether the token `jti` of this subject is revoked. */
  has(subject: string, jti: string, nowMs: number): boolean
  /** Returns the marks that are still needed. */
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
      marks.set(revoked.person, known !== undefined && known.before > revoked.before ? known : revoked)
      lastMs = Math.max(lastMs, revoked.untilMs)
      return true
    },
    has(subject, jti, timeMs) {
      if (lastMs === 0) return false
      if (lastMs > timeMs) return jti <= (marks.get(subject)?.before ?? '')
      marks.clear()
      lastMs = 0
      return false
    },
    live: (timeMs) => [...marks.values()].filter(({ untilMs }) => untilMs > timeMs),
  }
}

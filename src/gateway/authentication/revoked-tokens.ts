/**
 * Revoked tokens of this gateway that have not expired yet.
 *
 * A token is kept until it expires. Each `add` removes a few expired tokens, and the set is cleared when the last
 * of all has expired, so that `has` costs one comparison while no token is revoked.
 */

import type { RevokedToken } from '../../boundary/plan/gateway-port.ts'

export interface RevokedTokens {
  /** Returns false if the set is full; the token is then not added. */
  add(token: RevokedToken): boolean
  has(jti: string, nowMs: number): boolean
  /** Returns the tokens that have not expired. */
  live(nowMs: number): readonly RevokedToken[]
}

/** About 100 MB per thread. The bound on revocations per credential is far lower. */
const TOKENS_MAX = 500_000
const PRUNED_PER_ADD = 16

export function createRevokedTokens(nowMs: () => number, tokensMax = TOKENS_MAX): RevokedTokens {
  const untilMs = new Map<string, number>()
  let lastMs = 0
  let cursor = untilMs.entries()

  /** Continues where the last call stopped, so that repeated calls visit every entry. */
  function prune(timeMs: number): void {
    for (let visited = 0; visited < PRUNED_PER_ADD; visited++) {
      const next = cursor.next()
      if (next.done === true) {
        cursor = untilMs.entries()
        return
      }
      if (next.value[1] <= timeMs) untilMs.delete(next.value[0])
    }
  }

  function clear(): void {
    untilMs.clear()
    cursor = untilMs.entries()
    lastMs = 0
  }

  return {
    add(token) {
      const timeMs = nowMs()
      prune(timeMs)
      if (token.untilMs <= timeMs) return true
      if (untilMs.size >= tokensMax && !untilMs.has(token.jti)) return false
      untilMs.set(token.jti, Math.max(token.untilMs, untilMs.get(token.jti) ?? 0))
      lastMs = Math.max(lastMs, token.untilMs)
      return true
    },
    has(jti, timeMs) {
      if (lastMs === 0) return false
      if (lastMs > timeMs) return untilMs.has(jti)
      clear()
      return false
    },
    live: (timeMs) => [...untilMs].flatMap(([jti, until]) => (until > timeMs ? [{ jti, untilMs: until }] : [])),
  }
}

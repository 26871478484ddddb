/**
 * Tokens of ours that open nothing any more, though their signatures verify and they have not expired.
 *
 * A token is remembered until it has expired by itself. Each word looks at a few of the remembered ones
 * and forgets those that have; when the last of all has expired everything is forgotten at once, so
 * that where nothing is revoked a question costs one comparison.
 */

import type { RevokedToken } from '../../plan/gateway-port.ts'

export interface RevokedTokens {
  /** False where as many are remembered as may be; then nothing was noted. */
  add(token: RevokedToken): boolean
  has(jti: string, nowMs: number): boolean
  /** Those that must still be remembered. */
  live(nowMs: number): readonly RevokedToken[]
}

/** About 100 MB on each thread; what one credential may revoke is bounded far below. */
const TOKENS_MAX = 500_000
const LOOKED_AT = 16

export function createRevokedTokens(nowMs: () => number, tokensMax = TOKENS_MAX): RevokedTokens {
  const untilMs = new Map<string, number>()
  let lastMs = 0
  let cursor = untilMs.entries()

  /** Goes on where it stopped: so many words later every entry was looked at once. */
  function prune(timeMs: number): void {
    for (let looked = 0; looked < LOOKED_AT; looked++) {
      const next = cursor.next()
      if (next.done === true) {
        cursor = untilMs.entries()
        return
      }
      if (next.value[1] <= timeMs) untilMs.delete(next.value[0])
    }
  }

  function forget(): void {
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
      forget()
      return false
    },
    live: (timeMs) => [...untilMs].flatMap(([jti, until]) => (until > timeMs ? [{ jti, untilMs: until }] : [])),
  }
}

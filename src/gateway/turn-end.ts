/** Lets whoever joins during a turn of the event loop act when it is over: one `setImmediate` for all. */

import type { Forwarding, TurnEnd } from './forward.ts'

export function createTurnEnd(): TurnEnd {
  let joined: Forwarding[] = []

  function end(): void {
    const now = joined
    joined = []
    for (const forwarding of now) forwarding.onTurnEnd()
  }

  return {
    join(forwarding) {
      if (joined.push(forwarding) === 1) setImmediate(end)
    },
  }
}

/** Batches callbacks of one turn of the event loop: all members that join run in a single `setImmediate`. */

export interface TurnMember {
  onTurnEnd(): void
}

export interface TurnEnd {
  join(member: TurnMember): void
}

export function createTurnEnd(): TurnEnd {
  let joined: TurnMember[] = []

  function end(): void {
    const now = joined
    joined = []
    for (const member of now) member.onTurnEnd()
  }

  return {
    join(member) {
      if (joined.push(member) === 1) setImmediate(end)
    },
  }
}

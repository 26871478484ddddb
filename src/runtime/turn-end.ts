/** Runs whatever joins during a turn of the event loop when that turn is over: one `setImmediate` for all. */

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

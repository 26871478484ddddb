/**
 * The work that one comparison may take, in steps. A step is about a microsecond of a proof.
 *
 * Counting makes a verdict independent of the load of the machine: two runs give up at the same place.
 */
export interface WorkBudget {
  readonly isSpent: boolean
  /** Steps that were spent; may exceed the limit by one operation's worth. */
  readonly used: number
  spend(steps: number): void
}

export function createWorkBudget(stepsMax: number): WorkBudget {
  let used = 0
  return {
    get isSpent() {
      return used >= stepsMax
    },
    get used() {
      return used
    },
    spend(steps) {
      used += steps
    },
  }
}

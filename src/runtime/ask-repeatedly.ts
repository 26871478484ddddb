/** Asks a server whether it still answers, for as long as a stop waits for it. */

import type { Clock } from './clock.ts'

export interface Questions {
  /** Resolves with the answer. A refusal is an answer. */
  readonly ask: () => Promise<void>
  readonly clock: Pick<Clock, 'after'>
  /** A question was left unanswered for five seconds. Called once, after which no more are asked. */
  readonly onUnanswered: () => void
}

const ANSWERED_WITHIN_MS = 5_000
const ASKED_EVERY_MS = 1_000

/** Asks until the returned function is called. */
export function askRepeatedly({ ask, clock, onUnanswered }: Questions): () => void {
  let cancel = (): void => {}
  let isOver = false
  const askNext = async (): Promise<void> => {
    cancel = clock.after(ANSWERED_WITHIN_MS, () => {
      isOver = true
      onUnanswered()
    })
    await ask()
    cancel()
    if (!isOver) cancel = clock.after(ASKED_EVERY_MS, () => void askNext())
  }
  void askNext()
  return () => {
    isOver = true
    cancel()
  }
}

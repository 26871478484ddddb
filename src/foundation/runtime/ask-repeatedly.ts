/** Asks a server whether it still answers, for as long as a stop waits for it. */

import type { Clock } from './clock.ts'

export interface Questions {
  /** Resolves with whether there is an answer; a refusal is one. Never rejects. */
  readonly ask: () => Promise<boolean>
  readonly clock: Pick<Clock, 'after'>
  /** A question has no answer, or none within five seconds. Called once, after which no more are asked. */
  readonly onUnanswered: () => void
}

const ANSWERED_WITHIN_MS = 5_000
const ASKED_EVERY_MS = 1_000

/** Asks until a question has no answer, or the returned function is called. */
export function askRepeatedly({ ask, clock, onUnanswered }: Questions): () => void {
  let cancel = (): void => {}
  let isOver = false
  const end = (): void => {
    isOver = true
    onUnanswered()
  }
  const askNext = async (): Promise<void> => {
    cancel = clock.after(ANSWERED_WITHIN_MS, end)
    const isAnswered = await ask()
    if (isOver) return
    cancel()
    if (isAnswered) cancel = clock.after(ASKED_EVERY_MS, () => void askNext())
    else end()
  }
  void askNext()
  return () => {
    isOver = true
    cancel()
  }
}

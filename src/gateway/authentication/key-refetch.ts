/**
 * Asks the main thread to look for new keys of a provider: once, however many tokens wait for it.
 *
 * A forged token names any key it likes, so a question that brought nothing is not repeated for a
 * moment, and those who wait have a bound. The main thread keeps the longer rest between two fetches.
 */

import type { Clock } from '../../runtime/clock.ts'

export interface KeyRefetch {
  /** Whether the keys have changed; rejects where that cannot be known now. */
  (provider: string): Promise<boolean>
}

export interface KeyRefetchOptions {
  readonly refetch: (provider: string) => Promise<boolean>
  readonly clock: Pick<Clock, 'nowMs'>
}

interface Question {
  readonly answer: Promise<boolean>
  waiting: number
}

const REST_MS = 1_000
const WAITING_MAX = 1_000

export function createKeyRefetch({ refetch, clock }: KeyRefetchOptions): KeyRefetch {
  const asked = new Map<string, Question>()
  /** By provider; no more than are registered. */
  const restsUntilMs = new Map<string, number>()

  async function ask(provider: string): Promise<boolean> {
    try {
      const isChanged = await refetch(provider)
      if (isChanged) restsUntilMs.delete(provider)
      else restsUntilMs.set(provider, clock.nowMs() + REST_MS)
      return isChanged
    } finally {
      asked.delete(provider)
    }
  }

  return (provider) => {
    const question = asked.get(provider)
    if (question !== undefined) {
      if (++question.waiting > WAITING_MAX) return Promise.reject(new Error('too many tokens wait for keys'))
      return question.answer
    }
    if ((restsUntilMs.get(provider) ?? 0) > clock.nowMs()) return Promise.resolve(false)
    const answer = ask(provider)
    asked.set(provider, { answer, waiting: 1 })
    return answer
  }
}

/**
 * A gateway thread's line to the main thread: questions with a time limit and a bound on how many
 * wait, counters that travel once a second, and the word that the spool has grown, said once until
 * it was heard.
 */

import type { MessagePort } from 'node:worker_threads'
import type { EventReason } from '../../runtime/event-reasons.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Requests, ToHost, ToThread } from './messages.ts'

export interface HostLink {
  /** Rejects when too many wait or no answer comes in time. */
  ask<Name extends keyof Requests>(name: Name, ask: Requests[Name]['ask']): Promise<Requests[Name]['answer']>
  tell(message: ToHost): void
  /** Adds to a counter; reasons are words of ours, never a caller's. */
  count(reason: EventReason): void
  grown(): void
  close(): void
}

const WAITING_MAX = 4_096
const ANSWER_WITHIN_MS = 5_000
const COUNTS_EVERY_MS = 1_000

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (reason: Error) => void
  readonly cancelTimer: () => void
}

export interface HostLinkOptions {
  readonly port: MessagePort
  readonly clock: Clock
  /** One word of shared memory: 1 while the main thread has yet to hear that the spool has grown. */
  readonly grownFlag: Int32Array
}

export function createHostLink({
  port,
  clock,
  grownFlag,
}: HostLinkOptions): HostLink & { hear(message: ToThread): void } {
  const waiting = new Map<number, Waiting>()
  let counts = new Map<EventReason, number>()
  let nextId = 1
  const stopCounting = clock.every(COUNTS_EVERY_MS, sendCounts)

  function tell(message: ToHost): void {
    port.postMessage(message)
  }

  function sendCounts(): void {
    if (counts.size === 0) return
    tell({ type: 'counted', counts: [...counts] })
    counts = new Map()
  }

  function settle(id: number): Waiting | undefined {
    const one = waiting.get(id)
    waiting.delete(id)
    one?.cancelTimer()
    return one
  }

  return {
    tell,
    ask(name, ask) {
      if (waiting.size >= WAITING_MAX) return Promise.reject(new Error('too many questions wait for the main thread'))
      const id = nextId++
      return new Promise((resolve, reject) => {
        const cancelTimer = clock.after(ANSWER_WITHIN_MS, () =>
          settle(id)?.reject(new Error(`the main thread did not answer ${name} in time`)),
        )
        waiting.set(id, { resolve: resolve as (value: unknown) => void, reject, cancelTimer })
        tell({ type: 'request', id, name, ask })
      })
    },
    count(reason) {
      counts.set(reason, (counts.get(reason) ?? 0) + 1)
    },
    grown() {
      if (Atomics.exchange(grownFlag, 0, 1) === 0) tell({ type: 'grown' })
    },
    hear(message) {
      if (message.type === 'answer') settle(message.id)?.resolve(message.value)
      else if (message.type === 'failed') settle(message.id)?.reject(new Error(message.reason))
    },
    close() {
      stopCounting()
      sendCounts()
    },
  }
}

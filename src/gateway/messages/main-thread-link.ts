/**
 * The link of a gateway thread to the main thread.
 *
 * - Requests have a time limit, and the number of pending ones is bounded.
 * - Counters, and the credentials that were used, are collected here and sent once a second.
 * - "The spool has grown" is sent once; the next message follows only after the main thread has cleared the flag.
 */

import { MINUTE_MS } from '../../foundation/domain/calendar.ts'
import type { EventReason } from '../../foundation/runtime/event-reasons.ts'
import type { MessagePort } from 'node:worker_threads'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Requests, ToMainThread, ToWorker } from './messages.ts'

export interface MainThreadLink {
  /** Rejects if too many requests are pending, or if no response arrives in time. */
  request<Name extends keyof Requests>(
    name: Name,
    parameters: Requests[Name]['parameters'],
  ): Promise<Requests[Name]['response']>
  send(message: ToMainThread): void
  /** Adds to a counter. The reason is a fixed text of the gateway and never contains input. */
  count(reason: EventReason): void
  /** Notes that a credential was used in this minute. */
  noteUse(credential: string): void
  notifySpoolGrown(): void
  /** Settles the request that a message of the main thread responds to. */
  receive(message: ToWorker): void
  close(): void
}

const PENDING_MAX = 4_096
const RESPONSE_WITHIN_MS = 5_000
const COUNTS_EVERY_MS = 1_000

interface Pending {
  readonly resolve: (value: unknown) => void
  readonly reject: (reason: Error) => void
  readonly cancelTimer: () => void
}

export interface MainThreadLinkOptions {
  readonly port: MessagePort
  readonly clock: Clock
  /** One Int32 of shared memory: 1 from the message that the spool has grown until the main thread has handled it. */
  readonly spoolGrownFlag: Int32Array
}

export function createMainThreadLink({ port, clock, spoolGrownFlag }: MainThreadLinkOptions): MainThreadLink {
  const pending = new Map<number, Pending>()
  let counts = new Map<EventReason, number>()
  let nextId = 1
  const uses = new UsesOfMinute((minute, credentials) => send({ type: 'used', minute, credentials }))
  const stopCounting = clock.every(COUNTS_EVERY_MS, sendCounts)

  function send(message: ToMainThread): void {
    port.postMessage(message)
  }

  function sendCounts(): void {
    uses.send()
    if (counts.size === 0) return
    send({ type: 'counted', counts: [...counts] })
    counts = new Map()
  }

  function take(id: number): Pending | undefined {
    const request = pending.get(id)
    pending.delete(id)
    request?.cancelTimer()
    return request
  }

  return {
    send,
    request(name, parameters) {
      if (pending.size >= PENDING_MAX)
        return Promise.reject(new Error('too many requests to the main thread are pending'))
      const id = nextId++
      return new Promise((resolve, reject) => {
        const cancelTimer = clock.after(RESPONSE_WITHIN_MS, () =>
          take(id)?.reject(new Error(`the main thread did not respond to ${name} in time`)),
        )
        pending.set(id, { resolve: resolve as (value: unknown) => void, reject, cancelTimer })
        send({ type: 'request', id, name, parameters })
      })
    },
    count(reason) {
      counts.set(reason, (counts.get(reason) ?? 0) + 1)
    },
    noteUse: (credential) => uses.note(credential, Math.floor(clock.nowMs() / MINUTE_MS)),
    notifySpoolGrown() {
      if (Atomics.exchange(spoolGrownFlag, 0, 1) === 0) send({ type: 'spoolGrown' })
    },
    receive(message) {
      if (message.type === 'response') take(message.id)?.resolve(message.value)
      else if (message.type === 'failed') take(message.id)?.reject(new Error(message.reason))
    },
    close() {
      stopCounting()
      sendCounts()
    },
  }
}

/** The credentials that were used in the current minute; each is sent once. */
class UsesOfMinute {
  readonly #send: (minute: number, credentials: readonly string[]) => void
  #minute = 0
  readonly #used = new Set<string>()
  #unsent: string[] = []

  constructor(send: (minute: number, credentials: readonly string[]) => void) {
    this.#send = send
  }

  note(credential: string, minute: number): void {
    if (minute !== this.#minute) this.#begin(minute)
    if (this.#used.has(credential)) return
    this.#used.add(credential)
    this.#unsent.push(credential)
  }

  send(): void {
    if (this.#unsent.length === 0) return
    this.#send(this.#minute, this.#unsent)
    this.#unsent = []
  }

  #begin(minute: number): void {
    this.send()
    this.#used.clear()
    this.#minute = minute
  }
}

/** The grantor in virtual time: a process that restarts empty or from a snapshot, and whose clock can be set. */

import { grant, type GrantorMoment } from '../../src/boundary/leases/grantor.ts'
import { createGrantorState, type GrantorState } from '../../src/boundary/leases/grantor-state.ts'
import type { LeaseMessage, LeaseReply } from '../../src/boundary/leases/lease-messages.ts'
import type { LeaseTimings } from '../../src/boundary/leases/lease-timings.ts'

export type Grant = typeof grant

/** Clock of the server when a simulation begins. */
const EPOCH_MS = 1_000_000

export class LeaseServer {
  isUp = true
  #state: GrantorState = createGrantorState()
  #snapshot: GrantorState = createGrantorState()
  #runs = 1
  #clockOffsetMs = EPOCH_MS
  readonly #timings: LeaseTimings
  readonly #grant: Grant
  readonly #isStepHidden: boolean
  #hiddenStepMs = 0

  /** With a hidden step, replies show a clock that was never set, while the grantor uses the one that was. */
  constructor(timings: LeaseTimings, plantedGrant: Grant = grant, isStepHidden = false) {
    this.#timings = timings
    this.#grant = plantedGrant
    this.#isStepHidden = isStepHidden
  }

  execute(message: LeaseMessage, nowMs: number): LeaseReply | null {
    if (!this.isUp) return null
    const moment: GrantorMoment = { nowMs: nowMs + this.#clockOffsetMs, runId: `run-${this.#runs}` }
    if (!this.#isStepHidden) return this.#grant(this.#state, message, moment, this.#timings)
    const reply = this.#grant(this.#state, withoutBounds(message), moment, this.#timings)
    return { ...reply, nowMs: reply.nowMs - this.#hiddenStepMs }
  }

  setClock(stepMs: number): void {
    this.#clockOffsetMs += stepMs
    this.#hiddenStepMs += stepMs
  }

  takeSnapshot(): void {
    this.#snapshot = structuredClone(this.#state)
  }

  restart(from: 'empty' | 'snapshot'): void {
    this.#runs++
    this.#state = from === 'empty' ? createGrantorState() : structuredClone(this.#snapshot)
    this.isUp = true
  }
}

function withoutBounds(message: LeaseMessage): LeaseMessage {
  if (message.type === 'request') return { ...message, notBeforeMs: -Infinity, notAfterMs: Infinity }
  return message.type === 'open' ? { ...message, notAfterMs: Infinity } : message
}

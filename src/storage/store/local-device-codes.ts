/** The device codes of a single node, in memory: a restart ends the sign-ins in progress, and the devices begin again. */

import type { Clock } from '../../foundation/runtime/clock.ts'
import {
  CODES_MAX,
  INTERVAL_MS,
  LIFETIME_MS,
  NOTED_EVERY_MS,
  REMEMBERED_MS,
  SLOW_DOWN_MS,
  type DeviceCodeStore,
  type NewDeviceCode,
} from './device-codes.ts'

interface Code extends NewDeviceCode {
  readonly expiresAtMs: number
  intervalMs: number
  polledAtMs: number
  decision: string | null
}

export function createLocalDeviceCodes(clock: Pick<Clock, 'nowMs'>, codesMax = CODES_MAX): DeviceCodeStore {
  const table = new Table(codesMax)
  const isOpen = (code: Code): boolean => code.decision === null && code.expiresAtMs > clock.nowMs()

  return {
    async add(code) {
      const nowMs = clock.nowMs()
      table.removePast(nowMs - REMEMBERED_MS)
      if (table.byUserCode(code.userCodeHash) !== undefined) return false
      const times = { expiresAtMs: nowMs + LIFETIME_MS, intervalMs: INTERVAL_MS, polledAtMs: nowMs - INTERVAL_MS }
      table.add({ ...code, ...times, decision: null })
      return true
    },
    async find(id) {
      const code = table.get(id)
      const nowMs = clock.nowMs()
      if (code === undefined || code.expiresAtMs + REMEMBERED_MS <= nowMs) return null
      const { secretHash, request, decision } = code
      return { id, secretHash, request, decision, isExpired: code.expiresAtMs <= nowMs }
    },
    async enter(userCodeHash) {
      const code = table.byUserCode(userCodeHash)
      if (code === undefined || !isOpen(code)) return null
      table.touch(code)
      return { id: code.id, request: code.request }
    },
    async decide(id, decision) {
      const code = table.get(id)
      if (code === undefined || !isOpen(code)) return false
      code.decision = decision
      table.touch(code)
      return true
    },
    async poll(id) {
      const code = table.get(id)
      const nowMs = clock.nowMs()
      if (code === undefined || nowMs - code.polledAtMs < NOTED_EVERY_MS) return false
      const isTooFast = nowMs - code.polledAtMs < code.intervalMs
      code.polledAtMs = nowMs
      if (isTooFast) code.intervalMs += SLOW_DOWN_MS
      table.touch(code)
      return !isTooFast
    },
    async take(id) {
      const code = table.get(id)
      if (code !== undefined) table.remove(code)
      return code !== undefined
    },
  }
}

class Table {
  readonly #codesMax: number
  /** In the order of their expiry. */
  readonly #codes = new Map<string, Code>()
  readonly #byUserCode = new Map<string, Code>()
  /** The codes of each network; the one whose last request is oldest comes first. */
  readonly #byNetwork = new Map<string, Set<Code>>()

  constructor(codesMax: number) {
    this.#codesMax = codesMax
  }

  get(id: string): Code | undefined {
    return this.#codes.get(id)
  }

  byUserCode(hash: string): Code | undefined {
    return this.#byUserCode.get(hash)
  }

  add(code: Code): void {
    if (this.#codes.size >= this.#codesMax) this.#removeOne()
    this.#codes.set(code.id, code)
    this.#byUserCode.set(code.userCodeHash, code)
    const codes = this.#byNetwork.get(code.networkHash)
    if (codes === undefined) this.#byNetwork.set(code.networkHash, new Set([code]))
    else codes.add(code)
  }

  /** Notes a request for the code. */
  touch(code: Code): void {
    const codes = this.#byNetwork.get(code.networkHash)
    if (codes?.delete(code) === true) codes.add(code)
  }

  remove(code: Code): void {
    this.#codes.delete(code.id)
    this.#byUserCode.delete(code.userCodeHash)
    const codes = this.#byNetwork.get(code.networkHash)
    codes?.delete(code)
    if (codes?.size === 0) this.#byNetwork.delete(code.networkHash)
  }

  removePast(untilMs: number): void {
    for (const code of this.#codes.values()) {
      if (code.expiresAtMs > untilMs) return
      this.remove(code)
    }
  }

  #removeOne(): void {
    let most: ReadonlySet<Code> = new Set()
    for (const codes of this.#byNetwork.values()) if (codes.size > most.size) most = codes
    for (const code of most) {
      this.remove(code)
      return
    }
  }
}

/**
 * The device codes of the logins in progress, bounded in number.
 *
 * A device asks for the decision every few seconds, so that a code without requests is most likely abandoned. In a full table a
 * new code replaces one of the address that has the most codes: the one whose last request is oldest. So a stranger who begins
 * many logins replaces their own. An IPv6 host has a network of addresses, which counts as one.
 */

import { networkOf } from './network-of.ts'

export const CODES_MAX = 10_000

interface CodeInTable {
  readonly id: string
  readonly userCodeHash: string
  /** The address of the device. */
  readonly address: string
  readonly expiresAtMs: number
}

export class DeviceCodeTable<Code extends CodeInTable> {
  /** In the order of their expiry. */
  readonly #codes = new Map<string, Code>()
  readonly #byUserCode = new Map<string, Code>()
  /** The codes of each network; the one whose last request is oldest comes first. */
  readonly #byNetwork = new Map<string, Set<Code>>()

  get(id: string): Code | undefined {
    return this.#codes.get(id)
  }

  byUserCode(hash: string): Code | undefined {
    return this.#byUserCode.get(hash)
  }

  add(code: Code): void {
    if (this.#codes.size >= CODES_MAX) this.#removeOne()
    this.#codes.set(code.id, code)
    this.#byUserCode.set(code.userCodeHash, code)
    const network = networkOf(code.address)
    const codes = this.#byNetwork.get(network)
    if (codes === undefined) this.#byNetwork.set(network, new Set([code]))
    else codes.add(code)
  }

  /** Notes a request for the code. */
  touch(code: Code): void {
    const codes = this.#byNetwork.get(networkOf(code.address))
    if (codes?.delete(code) === true) codes.add(code)
  }

  remove(code: Code): void {
    this.#codes.delete(code.id)
    this.#byUserCode.delete(code.userCodeHash)
    const network = networkOf(code.address)
    const codes = this.#byNetwork.get(network)
    codes?.delete(code)
    if (codes?.size === 0) this.#byNetwork.delete(network)
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

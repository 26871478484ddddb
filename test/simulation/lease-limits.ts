/** The declared limits of a simulation, and which of their values each node follows. */

import { toBucket } from '../../src/domain/gcra.ts'
import type { LeaseDeclaration } from '../../src/leases/lease-counter.ts'
import type { Random } from '../random.ts'
import type { Declared, LeaseChecker } from './lease-checker.ts'

export type LimitName = 'short' | 'long' | 'rate' | 'slots'

export const LIMIT_NAMES: readonly LimitName[] = ['short', 'long', 'rate', 'slots']
export const CALL_MS_MAX = 3_000
const WINDOWS_MS: Partial<Record<LimitName, number>> = { short: 2_000, long: 15_000 }
const SPAN_MS = 3_000

interface Followed {
  readonly value: number
  readonly version: number
}

export class LeaseLimits {
  readonly #random: Random
  readonly #newest: Record<LimitName, number>
  #version = 1
  /** The value that each node follows. */
  readonly #followed = new Map<number, Record<LimitName, Followed>>()

  constructor(random: Random, nodes: number) {
    this.#random = random
    const pick = (): number => 1 + random.below(random.below(4) === 0 ? 60 : 12)
    this.#newest = { short: pick(), long: pick() + pick(), rate: pick(), slots: 1 + random.below(6) }
    for (let node = 0; node < nodes; node++) this.#followed.set(node, this.#now())
  }

  /** Changes one value. A rate is only lowered: the bucket leaks at the rate of the next call, also for the time before. */
  change(): LimitName {
    const name = LIMIT_NAMES[this.#random.below(4)]!
    this.#version++
    const before = this.#newest[name]
    const isRaised = name !== 'rate' && this.#random.below(4) === 0
    this.#newest[name] = isRaised ? before + 1 + this.#random.below(5) : 1 + this.#random.below(before)
    return name
  }

  follow(node: number, name: LimitName, checker: LeaseChecker, nowMs: number): void {
    if (name === 'rate') checker.leak(name, nowMs, this.limit('rate').value)
    this.#followed.get(node)![name] = this.#now()[name]
    if (name === 'rate') checker.lower(name, this.limit('rate'))
  }

  followAll(node: number, checker: LeaseChecker, nowMs: number): void {
    for (const name of LIMIT_NAMES) this.follow(node, name, checker, nowMs)
  }

  #now(): Record<LimitName, Followed> {
    const follow = (name: LimitName): Followed => ({ value: this.#newest[name], version: this.#version })
    return { short: follow('short'), long: follow('long'), rate: follow('rate'), slots: follow('slots') }
  }

  /** The highest value that a node follows. */
  limit(name: LimitName): Declared {
    const values = [...this.#followed.values()].map((followed) => followed[name].value)
    return { value: Math.max(...values), spanMs: SPAN_MS }
  }

  declaration(node: number, name: LimitName): LeaseDeclaration {
    const { value, version } = this.#followed.get(node)![name]
    if (name === 'slots') return { kind: 'concurrent', version, value, callMsMax: CALL_MS_MAX }
    if (name === 'rate') return { kind: 'rate', version, ...toBucket(value, SPAN_MS) }
    const lengthMs = WINDOWS_MS[name]!
    return {
      kind: 'total',
      version,
      value,
      windowAt: (serverMs) => {
        const startMs = serverMs - (serverMs % lengthMs)
        return { startMs, endMs: startMs + lengthMs }
      },
    }
  }
}

/** The declared limits of a simulation, and which of their values each node follows. */

import { toBucket } from '../../src/foundation/domain/gcra.ts'
import type { LeaseDeclaration } from '../../src/boundary/leases/lease-declaration.ts'
import type { Random } from '../random.ts'
import type { Declared } from './lease-checker.ts'

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
  readonly #history: (Followed & { readonly name: LimitName })[] = []
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
    this.#history.push({ name, version: this.#version, value: this.#newest[name] })
    return name
  }

  follow(node: number, name: LimitName): void {
    this.#followed.get(node)![name] = this.#now()[name]
  }

  followAll(node: number): void {
    this.#followed.set(node, this.#now())
  }

  #now(): Record<LimitName, Followed> {
    const follow = (name: LimitName): Followed => ({ value: this.#newest[name], version: this.#version })
    return { short: follow('short'), long: follow('long'), rate: follow('rate'), slots: follow('slots') }
  }

  /** The highest value since the oldest one that a node still follows: an older value also ends when the node follows the newest. */
  limit(name: LimitName): Declared {
    const followed = [...this.#followed.values()].map((each) => each[name])
    const oldest = Math.min(...followed.map(({ version }) => version))
    const newest = Math.max(...followed.map(({ version }) => version))
    const between = this.#history.filter(
      (each) => each.name === name && each.version > oldest && each.version <= newest,
    )
    return { value: Math.max(...[...followed, ...between].map(({ value }) => value)), spanMs: SPAN_MS }
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

/**
 * Look-ups of host names on one thread, shared and bounded, so that a name whose DNS server does not answer delays no other one.
 *
 * The system looks names up on a few threads that the whole process shares, and one that gets no answer occupies a thread for ten
 * seconds or more. Callers of a backend could cause as many of them as they open connections. Therefore:
 *
 * - All who ask for a name at the same time share one look-up.
 * - Names that are new, or were late the last time, have few look-ups at once; the others wait. Names that were late are last, and
 *   are refused for as long as their look-up took.
 * - A name that is late gets the addresses that it had before.
 */

import type { LookupAddress } from 'node:dns'
import type { Clock } from '../runtime/clock.ts'
import { createMonotonicClock } from '../runtime/monotonic.ts'

export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>

type Answer = PromiseWithResolvers<readonly LookupAddress[]>

interface Name {
  readonly hostname: string
  /** The look-up that runs or waits. */
  pending: Answer | null
  /** How the last look-up ended; null: there was none. */
  wasLate: boolean | null
  addresses: readonly LookupAddress[] | null
  addressesAtMs: number
  /** A late name without addresses is refused until then. */
  refusedUntilMs: number
}

/** Longer than a resolver waits for the answers to a few lost packets on a local network. */
const LATE_MS = 1_000
/** Look-ups of names that were not prompt the last time. */
const DOUBTFUL_MAX = 4
const LATE_MAX = 1
const WAITING_MAX = 256
const KEPT_MS = 3_600_000
const NAMES_MAX = 4_096

export function createSharedResolve(
  resolve: Resolve,
  clock: Pick<Clock, 'after'>,
  monotonicMs = createMonotonicClock(),
): Resolve {
  const lookups = new SharedLookups(resolve, clock, monotonicMs)
  return (hostname) => lookups.resolve(hostname)
}

class SharedLookups {
  readonly #resolve: Resolve
  readonly #clock: Pick<Clock, 'after'>
  readonly #monotonicMs: () => number
  readonly #names = new Map<string, Name>()
  /** Names that wait for a look-up. */
  readonly #waiting: { readonly new: Name[]; readonly late: Name[] } = { new: [], late: [] }
  /** Look-ups of names that were not prompt the last time. */
  #doubtful = 0
  #late = 0

  constructor(resolve: Resolve, clock: Pick<Clock, 'after'>, monotonicMs: () => number) {
    this.#resolve = resolve
    this.#clock = clock
    this.#monotonicMs = monotonicMs
  }

  resolve(hostname: string): Promise<readonly LookupAddress[]> {
    const name = this.#nameOf(hostname)
    if (name.wasLate !== true) return this.#ask(name)
    const known = this.#addressesOf(name)
    if (known === null)
      return this.#monotonicMs() < name.refusedUntilMs ? Promise.reject(refused(name)) : this.#ask(name)
    this.#ask(name).catch(() => {})
    return Promise.resolve(known)
  }

  #ask(name: Name): Promise<readonly LookupAddress[]> {
    if (name.pending !== null) return name.pending.promise
    const { promise } = (name.pending = Promise.withResolvers())
    if (name.wasLate === false) void this.#lookUp(name, name.pending)
    else this.#queue(name, name.pending)
    return promise
  }

  #queue(name: Name, answer: Answer): void {
    const queue = name.wasLate === true ? this.#waiting.late : this.#waiting.new
    if (queue.length >= WAITING_MAX) {
      name.pending = null
      return answer.reject(refused(name))
    }
    queue.push(name)
    this.#next()
  }

  /** Starts look-ups of names that wait. */
  #next(): void {
    const { new: fresh, late } = this.#waiting
    while (this.#doubtful < DOUBTFUL_MAX) {
      const isLate = fresh.length === 0
      if (isLate && this.#late >= LATE_MAX) return
      const name = (isLate ? late : fresh).shift()
      if (name?.pending == null) return
      this.#doubtful++
      if (isLate) this.#late++
      void this.#lookUp(name, name.pending).then(() => {
        this.#doubtful--
        if (isLate) this.#late--
        this.#next()
      })
    }
  }

  /** Does not reject. */
  async #lookUp(name: Name, answer: Answer): Promise<void> {
    const startedMs = this.#monotonicMs()
    let isLate = false
    const cancel = this.#clock.after(LATE_MS, () => {
      isLate = name.wasLate = true
      const known = this.#addressesOf(name)
      if (known !== null) answer.resolve(known)
    })
    try {
      const found = await this.#resolve(name.hostname)
      name.addresses = found
      name.addressesAtMs = this.#monotonicMs()
      answer.resolve(found)
    } catch (cause) {
      if (!isLate || isDenied(cause)) name.addresses = null
      answer.reject(cause)
    } finally {
      cancel()
      name.pending = null
      name.wasLate = isLate
      const nowMs = this.#monotonicMs()
      name.refusedUntilMs = nowMs + (nowMs - startedMs)
    }
  }

  #addressesOf({ addresses, addressesAtMs }: Name): readonly LookupAddress[] | null {
    return this.#monotonicMs() - addressesAtMs < KEPT_MS ? addresses : null
  }

  #nameOf(hostname: string): Name {
    let name = this.#names.get(hostname)
    if (name !== undefined) return name
    if (this.#names.size >= NAMES_MAX) this.#evict()
    name = { hostname, pending: null, wasLate: null, addresses: null, addressesAtMs: 0, refusedUntilMs: 0 }
    this.#names.set(hostname, name)
    return name
  }

  /** Evicts the name that is known for the longest time. */
  #evict(): void {
    for (const [hostname, { pending }] of this.#names) {
      if (pending !== null) continue
      this.#names.delete(hostname)
      return
    }
  }
}

/** Whether a server answered that there is no such name. */
function isDenied(cause: unknown): boolean {
  return (cause as NodeJS.ErrnoException).code === 'ENOTFOUND'
}

/** The error that the system has for a name whose servers do not answer. */
function refused({ hostname }: Name): NodeJS.ErrnoException {
  return Object.assign(new Error(`the look-up of ${hostname} gets no answer`), { code: 'EAI_AGAIN' })
}

/**
 * PostgreSQL in virtual time: transactions take effect as a whole or not at all, and the lock of a partition is held until its
 * transaction ends. After each commit the invariants of risks are checked.
 */

import { idAt } from '../../src/foundation/runtime/ids.ts'
import type { SavedEpisode } from '../../src/storage/store/risk-checkpoint.ts'
import type {
  EventPage,
  PartitionChanges,
  RiskSignal,
  SignalBatch,
  SourceState,
} from '../../src/storage/store/shared-risks.ts'
import type { SpoolPosition } from '../../src/storage/store/checkpoint.ts'
import { START_MS } from '../fixtures/calls.ts'
import type { EventQueue } from './event-queue.ts'
import { checkCommitted } from './signal-checker.ts'

/** Faults that a test plants in the transactions. */
export interface PlantedInServer {
  /** Executes a batch also if its source is elsewhere by now. */
  readonly ignoresSequence?: boolean
  /** Moves the source in one transaction, and adds the signals in another. */
  readonly splitsBatches?: boolean
  readonly ignoresLocks?: boolean
  /** A commit does not renew the version of its partition. */
  readonly keepsVersions?: boolean
  /** Removes signals when they are read, not with the commit. */
  readonly removesEarly?: boolean
  readonly keepsSignals?: boolean
  /** Counts events in a transaction of its own. */
  readonly countsApart?: boolean
}

interface StoredSignal {
  readonly id: number
  readonly partition: number
  readonly body: string
}

interface Partition {
  readonly number: number
  version: string
  holder: string
  advancedMs: number
  lock: Transaction | null
}

export interface Transaction {
  readonly partition: Partition
  readonly version: string
  readonly nowMs: number
  readonly signals: readonly StoredSignal[]
  isOpen: boolean
}

const PARTITIONS = 2
const TAKE_MAX = 5

const partitionOf = (tenant: string): number => tenant.charCodeAt(0) % PARTITIONS

export class SignalServer {
  isUp = true
  readonly events: { readonly position: number; readonly event: PartitionChanges['events'][number] }[] = []
  readonly episodes = new Map<string, string>()
  readonly #queue: EventQueue
  readonly #planted: PlantedInServer
  readonly #sources = new Map<string, SourceState>()
  readonly #partitions: readonly Partition[]
  #signals: StoredSignal[] = []
  #transactions = new Set<Transaction>()
  #signalIds = 0
  #versions = 0
  #end = 0
  #lastMs = 0

  constructor(queue: EventQueue, planted: PlantedInServer) {
    this.#queue = queue
    this.#planted = planted
    this.#partitions = Array.from({ length: PARTITIONS }, (_, number) => ({
      number,
      version: `v${this.#versions++}`,
      holder: '',
      advancedMs: -Infinity,
      lock: null,
    }))
  }

  get #nowMs(): number {
    return START_MS + this.#queue.nowMs
  }

  /** Ends all transactions without effect. */
  crash(): void {
    this.isUp = false
    for (const transaction of [...this.#transactions]) this.rollback(transaction)
  }

  openSource(source: string, initial: SpoolPosition): SourceState {
    const state = this.#sources.get(source) ?? { sequence: 0, position: initial }
    this.#sources.set(source, state)
    return state
  }

  send({ source, expected, position, signals }: SignalBatch): boolean {
    const { sequence } = this.#sources.get(source)!
    if (sequence !== expected && this.#planted.ignoresSequence !== true) return false
    this.#sources.set(source, { sequence: sequence + 1, position })
    const add = (): void => {
      for (const signal of signals) {
        const partition = partitionOf(signal.tenant)
        this.#signals.push({ id: this.#signalIds++, partition, body: JSON.stringify(signal) })
      }
    }
    if (this.#planted.splitsBatches === true) this.#queue.after(20, () => this.isUp && add())
    else add()
    return true
  }

  begin(holder: string): Transaction | null {
    const nowMs = this.#nowMs
    const { ignoresLocks, removesEarly } = this.#planted
    const partition = this.#partitions.find(({ number, lock, advancedMs, holder: before }) => {
      if (lock !== null && ignoresLocks !== true) return false
      if (before !== holder && advancedMs > nowMs - 2_000 && ignoresLocks !== true) return false
      return advancedMs < nowMs - 1_000 || this.#signals.some((signal) => signal.partition === number)
    })
    if (partition === undefined) return null
    const signals = this.#signals.filter((signal) => signal.partition === partition.number).slice(0, TAKE_MAX)
    const transaction = { partition, version: partition.version, nowMs, signals, isOpen: true }
    partition.lock = transaction
    this.#transactions.add(transaction)
    if (removesEarly === true) this.#remove(signals)
    return transaction
  }

  openEpisodes({ partition }: Transaction): readonly SavedEpisode[] {
    return [...this.episodes.values()]
      .map((body) => JSON.parse(body) as SavedEpisode)
      .filter(({ state, tenant }) => state === 'open' && partitionOf(tenant) === partition.number)
  }

  rollback(transaction: Transaction): void {
    transaction.isOpen = false
    this.#transactions.delete(transaction)
    if (transaction.partition.lock === transaction) transaction.partition.lock = null
  }

  /** Returns the new version. Throws if the transaction has ended. */
  commit(transaction: Transaction, holder: string, { episodes, events, fromMs }: PartitionChanges): string {
    const { countsApart, keepsVersions, keepsSignals } = this.#planted
    if (countsApart === true && !transaction.isOpen) this.#end += events.length
    if (!transaction.isOpen) throw new Error('the transaction has ended')
    this.rollback(transaction)
    const { partition, signals } = transaction
    if (keepsSignals !== true) this.#remove(signals)
    for (const episode of episodes) this.episodes.set(episode.riskId, JSON.stringify(episode))
    if (events.length > 0) this.#lastMs = Math.max(this.#lastMs, fromMs, this.#nowMs)
    for (const event of events) {
      const position = ++this.#end
      this.events.push({ position, event: { ...event, id: idAt('evt', this.#lastMs, position) } })
    }
    if (keepsVersions !== true) partition.version = `v${this.#versions++}`
    partition.holder = holder
    partition.advancedMs = this.#nowMs
    checkCommitted(this)
    return partition.version
  }

  leave(holder: string): void {
    for (const partition of this.#partitions) {
      if (partition.holder === holder) Object.assign(partition, { holder: '', advancedMs: -Infinity })
    }
  }

  read(after: number, limit: number): EventPage {
    const events = this.events.filter(({ position }) => position > after).slice(0, limit)
    return { events, end: this.#end, lastId: this.events.at(-1)?.event.id ?? '' }
  }

  signalsOf({ signals }: Transaction): readonly RiskSignal[] {
    return signals.map(({ body }) => JSON.parse(body) as RiskSignal)
  }

  #remove(taken: readonly StoredSignal[]): void {
    const ids = new Set(taken.map(({ id }) => id))
    this.#signals = this.#signals.filter(({ id }) => !ids.has(id))
  }
}

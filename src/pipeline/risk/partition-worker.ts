/**
 * Advances the risk episodes of several nodes from their signals, one partition at a time.
 *
 * Episodes stay in memory between two transactions, under the version that the last one has committed. After a transaction whose outcome
 * is unknown they are read again. Signals are evaluated at once, because a later signal only raises a severity; silence is evaluated two
 * seconds later, when every live node has reported the calls before.
 */

import { RISK_TYPES } from '../../foundation/domain/risk.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import { createIdFactory, timeOfId } from '../../foundation/runtime/ids.ts'
import type { ClaimedPartition, PartitionChanges, PartitionStore } from '../../storage/store/shared-risks.ts'
import { RiskDetector } from './risk-detector.ts'
import type { RiskRules } from './risk-rules.ts'

export interface PartitionWorkerOptions {
  readonly store: PartitionStore
  /** Names this node. */
  readonly holder: string
  readonly rules: RiskRules
  readonly clock: Pick<Clock, 'after' | 'every'>
  readonly count: CountEvent
  /** A partition could not be advanced; it is repeated. */
  readonly onFailed: (cause: unknown) => void
}

export interface PartitionWorker {
  start(): void
  /** Looks for work now. */
  wake(): void
  /** Lets other nodes continue. Never rejects. */
  stop(): Promise<void>
}

interface CachedPartition {
  readonly version: string
  readonly detector: RiskDetector
  readonly evaluatedMs: number
}

const TICK_MS = 500
const EVALUATE_EVERY_MS = 1_000
/** All live nodes have reported the calls before. */
const WATERMARK_MS = 2_000
/** A call that is reported later than this was made at a node that was away. */
const LATE_MS = 60_000
/** The bound of a single node, divided by the number of partitions. */
const EPISODES_MAX = 12_500
const KNOWN_TYPES: ReadonlySet<string> = new Set(RISK_TYPES)

export function createPartitionWorker(options: PartitionWorkerOptions): PartitionWorker {
  return new Worker(options)
}

class Worker implements PartitionWorker {
  readonly #options: PartitionWorkerOptions
  readonly #partitions = new Map<number, CachedPartition>()
  readonly #createId: (prefix: string) => string
  /** Time of the store. */
  #nowMs = 0
  /** No id of a risk is newer. */
  #lastRiskMs = 0
  #isWoken = false
  #isStopped = false
  #running: Promise<void> | null = null
  #stopTicking = (): void => {}

  constructor(options: PartitionWorkerOptions) {
    this.#options = options
    this.#createId = createIdFactory(() => this.#nowMs)
  }

  start(): void {
    this.#stopTicking = this.#options.clock.every(TICK_MS, () => this.wake())
    this.wake()
  }

  wake(): void {
    if (this.#isStopped) return
    this.#isWoken = true
    this.#running ??= this.#run().finally(() => {
      this.#running = null
      if (this.#isWoken) this.wake()
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#isWoken = false
    this.#stopTicking()
    await this.#running
    const { store, holder, onFailed } = this.#options
    await store.leave(holder).catch(onFailed)
  }

  /** A partition that failed is repeated by the next tick. */
  async #run(): Promise<void> {
    while (this.#isWoken) {
      this.#isWoken = false
      try {
        while (!this.#isStopped && (await this.#advanceNext()));
      } catch (cause) {
        this.#options.onFailed(cause)
      }
    }
  }

  /** Returns whether there was a partition to advance. */
  async #advanceNext(): Promise<boolean> {
    const { store, holder } = this.#options
    let advanced: Omit<CachedPartition, 'version'> | null = null
    const committed = await store.advance(holder, async (claimed) => {
      const before = this.#partitions.get(claimed.number)
      // The episodes in memory are right again only once they are committed.
      this.#partitions.delete(claimed.number)
      const changed = await this.#apply(claimed, before)
      advanced = changed.cached
      return changed.changes
    })
    if (committed === null) return false
    if (advanced !== null) this.#partitions.set(committed.number, { ...(advanced as CachedPartition), ...committed })
    return true
  }

  async #apply(
    claimed: ClaimedPartition,
    before: CachedPartition | undefined,
  ): Promise<{ changes: PartitionChanges; cached: Omit<CachedPartition, 'version'> }> {
    const { nowMs, signals, version } = claimed
    this.#nowMs = nowMs
    const isCached = before?.version === version
    const detector = isCached ? before.detector : await this.#restore(claimed)
    let evaluatedMs = isCached ? before.evaluatedMs : 0
    for (const signal of signals) {
      if (!KNOWN_TYPES.has(signal.type)) this.#options.count('risk_signal_unreadable')
      else detector.addSignal(signal, nowMs - signal.lastMs > LATE_MS)
    }
    detector.evaluateChanged()
    if (Math.abs(nowMs - evaluatedMs) >= EVALUATE_EVERY_MS) {
      detector.evaluateAll(nowMs - WATERMARK_MS)
      evaluatedMs = nowMs
    }
    const { events, episodes } = detector.take()
    const fromMs = Math.max(nowMs, this.#lastRiskMs)
    return { changes: { events, episodes, fromMs }, cached: { detector, evaluatedMs } }
  }

  async #restore({ openEpisodes }: ClaimedPartition): Promise<RiskDetector> {
    return new RiskDetector({
      rules: this.#options.rules,
      newRiskId: () => this.#newRiskId(),
      // The id of an event follows from its position, which the commit assigns.
      newEventId: () => '',
      count: this.#options.count,
      saved: await openEpisodes(),
      episodesMax: EPISODES_MAX,
    })
  }

  /** The id of an event is not older than that of its risk, by which the history is searched. */
  #newRiskId(): string {
    const id = this.#createId('rsk')
    this.#lastRiskMs = Math.max(this.#lastRiskMs, timeOfId(id))
    return id
  }
}

/**
 * The connection of one process to the server: requests and answers are delayed or lost, and a request may take effect after the process
 * has given up. The session of a process that has gone, or has given up, is ended later.
 */

import type {
  PartitionStore,
  RiskEventFeed,
  SignalBatch,
  SignalStore,
  SourceState,
} from '../../src/storage/store/shared-risks.ts'
import type { Random } from '../random.ts'
import type { EventQueue } from './event-queue.ts'
import type { SignalServer, Transaction } from './signal-server.ts'

export interface PlantedInConnection {
  /** A batch without an answer is sent again. */
  readonly resends?: boolean
  /** A process continues where its own disk says. */
  readonly trustsDisk?: boolean
}

export interface SignalNetwork {
  readonly cutOff: Set<number>
  delayMsMax: number
  lossShare: number
}

export interface SignalConnectionOptions {
  readonly node: number
  readonly queue: EventQueue
  readonly random: Random
  readonly network: SignalNetwork
  readonly server: SignalServer
  readonly planted: PlantedInConnection
  /** Whether the process still runs. */
  readonly isAlive: () => boolean
}

const TIMEOUT_MS = 300
const SESSION_ENDS_MS = 400

export class SignalConnection implements SignalStore, PartitionStore {
  readonly #options: SignalConnectionOptions
  readonly feed: Pick<RiskEventFeed, 'read'>

  constructor(options: SignalConnectionOptions) {
    this.#options = options
    this.feed = { read: (after, limit) => this.#request((server) => server.read(after, limit)) }
  }

  async openSource(source: string, initial: SourceState['position']): Promise<SourceState> {
    const state = await this.#request((server) => server.openSource(source, initial))
    return this.#options.planted.trustsDisk === true ? { ...state, position: initial } : state
  }

  async send(batch: SignalBatch): Promise<boolean> {
    const { planted } = this.#options
    try {
      return await this.#request((server) => server.send(batch))
    } catch (cause) {
      if (planted.resends !== true) throw cause
      const { sequence } = await this.#request((server) => server.openSource(batch.source, batch.position))
      return this.#request((server) => server.send({ ...batch, expected: sequence }))
    }
  }

  async advance(...[holder, advance]: Parameters<PartitionStore['advance']>): ReturnType<PartitionStore['advance']> {
    let begun: Transaction | null = null
    const endLater = (): void => {
      const { queue, random, server } = this.#options
      const transaction = begun
      if (transaction !== null) queue.after(random.below(SESSION_ENDS_MS), () => server.rollback(transaction))
    }
    try {
      const transaction = await this.#request((server) => (begun = server.begin(holder)), endLater)
      if (transaction === null) return null
      const { number } = transaction.partition
      const changes = await advance({
        number,
        version: transaction.version,
        nowMs: transaction.nowMs,
        signals: this.#options.server.signalsOf(transaction),
        openEpisodes: () => this.#request((server) => server.openEpisodes(transaction), endLater),
      })
      const version = await this.#request((server) => server.commit(transaction, holder, changes), endLater)
      return { number, version }
    } catch (cause) {
      endLater()
      throw cause
    }
  }

  leave(holder: string): Promise<void> {
    return this.#request((server) => server.leave(holder))
  }

  /** Resolves with the answer; rejects if it does not come in time. A process that has gone receives nothing. */
  #request<Answer>(execute: (server: SignalServer) => Answer, onGone = (): void => {}): Promise<Answer> {
    const { queue, server, isAlive } = this.#options
    return new Promise((resolve, reject) => {
      const whileAlive = (settle: () => void) => (): void => (isAlive() ? settle() : onGone())
      let isGivenUp = false
      queue.after(TIMEOUT_MS, () => {
        isGivenUp = true
        whileAlive(() => reject(new Error('no answer')))()
      })
      if (this.#isLost()) return
      queue.after(this.#delayMs(), () => {
        if (!server.isUp) return
        let answer: () => void
        try {
          const result = structuredCloneOf(execute(server))
          answer = () => resolve(result)
        } catch (cause) {
          answer = () => reject(cause instanceof Error ? cause : new Error(String(cause)))
        }
        if (isGivenUp) onGone()
        if (!this.#isLost()) queue.after(this.#delayMs(), whileAlive(answer))
      })
    })
  }

  #isLost(): boolean {
    const { network, node, random } = this.#options
    return network.cutOff.has(node) || random.next() < network.lossShare
  }

  #delayMs(): number {
    const { network, random } = this.#options
    return random.below(random.below(40) === 0 ? 600 : network.delayMsMax)
  }
}

/** An answer is data, but a transaction is known by its identity. */
function structuredCloneOf<Answer>(answer: Answer): Answer {
  return typeof answer === 'object' && answer !== null && 'partition' in answer ? answer : structuredClone(answer)
}

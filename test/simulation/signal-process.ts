/** A node in virtual time, made of the parts of the product: its process crashes and starts again with its spool. */

import { openEventFollower, type EventFollower } from '../../src/pipeline/risk/event-follower.ts'
import { createPartitionWorker, type PartitionWorker } from '../../src/pipeline/risk/partition-worker.ts'
import { DEFAULT_RISK_RULES } from '../../src/pipeline/risk/risk-rules.ts'
import { createSignalSender, type SignalSender } from '../../src/pipeline/risk/signal-sender.ts'
import { earlierOf } from '../../src/storage/spool/spool-position.ts'
import type { Clock } from '../../src/foundation/runtime/clock.ts'
import type { SpoolPosition } from '../../src/storage/store/checkpoint.ts'
import { attribution, call, START_MS } from '../fixtures/calls.ts'
import { createMemorySpool } from '../fixtures/memory-spool.ts'
import { checkPublished, type CallLedger } from './signal-checker.ts'
import { SignalConnection, type SignalConnectionOptions } from './signal-connection.ts'

export interface SignalProcessOptions extends Omit<SignalConnectionOptions, 'isAlive'> {
  readonly ledger: CallLedger
  readonly onBroken: (cause: unknown) => void
}

interface Running {
  readonly sender: SignalSender
  readonly worker: PartitionWorker
  readonly follower: EventFollower
}

const PARTIES = [
  { tenant: 'acme', consumer: 'con_1' },
  { tenant: 'acme', consumer: 'con_2' },
  { tenant: 'globex', consumer: 'con_3' },
]
const RELEASE_EVERY_MS = 700
const RESTART_MS = 100

let spools = 1_000_000

export class SignalProcess {
  readonly #options: SignalProcessOptions
  readonly #spool = createMemorySpool((spools += 1_000))
  readonly #offsetMs: number
  /** On disk. */
  #saved: SpoolPosition = {}
  /** Number of starts, so that timers of an earlier process do nothing. */
  #life = 0
  #isUp = false
  #running: Running | null = null

  constructor(options: SignalProcessOptions) {
    this.#options = options
    this.#offsetMs = options.random.below(2_000) - 1_000
    options.queue.after(0, () => this.start())
  }

  start(): void {
    if (this.#isUp) return
    this.#isUp = true
    void this.#open(++this.#life)
  }

  crash(): void {
    this.#isUp = false
    this.#life++
    this.#running = null
  }

  /** Records refused calls, as the gateway does while its process runs. */
  call(): void {
    const { random, queue, ledger } = this.#options
    if (!this.#isUp) return
    const { tenant, consumer } = PARTIES[random.below(PARTIES.length)]!
    const timeMs = START_MS + queue.nowMs + this.#offsetMs
    const source = random.below(2) === 0 ? 'one' : 'two'
    this.#spool.append(source, [call(attribution({ tenant, consumer }), timeMs, 'operation_forbidden')])
    ledger.add(consumer)
    if (random.below(20) === 0) this.#spool.roll(source)
    this.#spool.grow()
  }

  /** Hints of the server. */
  hint(): void {
    this.#running?.worker.wake()
    void this.#running?.follower.poll()
  }

  async #open(life: number): Promise<void> {
    const { server, node, onBroken } = this.#options
    const isAlive = (): boolean => this.#life === life
    const connection = new SignalConnection({ ...this.#options, isAlive })
    const clock = this.#clockOf(isAlive)
    const count = (): void => {}
    const onFailed = (): void => {}
    let published = 0
    const follower = await openEventFollower({
      feed: connection.feed,
      clock,
      publish(events) {
        for (const { id } of events) attempt(onBroken, () => checkPublished(server, published++, id))
      },
      onGap: async (afterId) => onBroken(new Error(`events after ${afterId} were not read`)),
      onFailed,
    }).catch(() => null)
    if (!isAlive()) return
    if (follower === null) return void clock.after(RESTART_MS, () => void this.#open(life))
    published = server.events.findIndex(({ event }) => event.id === follower.fromId) + 1
    const worker = createPartitionWorker({
      store: guarded(connection, onBroken),
      holder: `n${node}`,
      rules: DEFAULT_RISK_RULES,
      clock,
      count,
      onFailed,
    })
    const sender = createSignalSender({
      reader: this.#spool,
      store: connection,
      source: `n${node}`,
      from: this.#saved,
      clock,
      isPressed: () => false,
      count,
      onFailed,
    })
    this.#running = { sender, worker, follower }
    follower.start()
    worker.start()
    sender.start()
    clock.every(RELEASE_EVERY_MS, () => this.#release(sender))
  }

  /** Everything else has read the whole spool. */
  #release(sender: SignalSender): void {
    const read = this.#spool.read({}, () => {})
    this.#saved = sender.held(read)
    this.#spool.release(earlierOf(read, this.#saved))
  }

  #clockOf(isAlive: () => boolean): Clock {
    const { queue } = this.#options
    const after = (delayMs: number, task: () => void): (() => void) => {
      let isCancelled = false
      queue.after(delayMs, () => {
        if (!isCancelled && isAlive()) task()
      })
      return () => void (isCancelled = true)
    }
    const every = (periodMs: number, task: () => void): (() => void) => {
      let isCancelled = false
      const repeat = (): void => {
        if (isCancelled) return
        task()
        after(periodMs, repeat)
      }
      after(periodMs, repeat)
      return () => void (isCancelled = true)
    }
    return { nowMs: () => START_MS + queue.nowMs + this.#offsetMs, after, every }
  }
}

function attempt(onBroken: (cause: unknown) => void, check: () => void): void {
  try {
    check()
  } catch (cause) {
    onBroken(cause)
  }
}

/** Reports invariants that a commit breaks, which the worker would take for a failure. */
function guarded(connection: SignalConnection, onBroken: (cause: unknown) => void): SignalConnection {
  const advance = connection.advance.bind(connection)
  connection.advance = (...given) =>
    advance(...given).catch((cause: unknown) => {
      onBroken(cause)
      throw cause
    })
  return connection
}

/**
 * The pool of gateway threads, as the main thread changes it: all threads change together.
 *
 * A command goes to every thread and is done when every thread has acknowledged it. Commands run one after the other, so that
 * all threads pass through the same states in the same order. A thread that ends loses only its own calls; its replacement
 * receives the current state (`serving-state.ts`) before it listens.
 */

import type { GatewayPort, PreparedRevision } from '../../boundary/plan/gateway-port.ts'
import type { PackedPlan } from '../../boundary/plan/packed-plan.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import type { SlaPlan } from '../../boundary/plan/sla-plan.ts'
import { toCommandProblem, toCompileProblem } from '../messages/command-error.ts'
import type { Command, CommandError, StoredRevision } from '../messages/messages.ts'
import type { GatewayPool, GatewayPoolOptions } from './gateway-pool-options.ts'
import { GatewayWorker } from './gateway-worker.ts'
import { sendInBatches } from './revision-batches.ts'
import { createServingState, type ServingState } from './serving-state.ts'

const DRAIN_WITHIN_MS = 30_000
const RESTART_AFTER_MS = 100

export function createGatewayPool(options: GatewayPoolOptions): GatewayPool {
  const state = createServingState(options.clock.nowMs)
  const workers = new Workers(options, state)

  /** Updates the serving state, then changes all threads, after all earlier commands. */
  function apply(command: Command, update: () => void): Promise<void> {
    return workers.enqueue(async () => {
      update()
      await workers.execute(command)
    })
  }

  return {
    load: () => workers.load(),
    start: () => workers.start(),
    leave: () => workers.enqueue(() => workers.execute({ type: 'leave' })),
    stop: () => workers.stop(),
    prepare: (plan, slas) => prepareRevision(workers, state, plan, slas),
    withdraw: (api) => apply({ type: 'withdraw', api }, () => state.removePlan(api)),
    applySla: (sla) => apply({ type: 'sla', sla }, () => state.setSla(sla)),
    applyGrants: (grants) => workers.enqueue(() => workers.execute({ type: 'grants', grants })),
    applyMembership: (api, productIds) =>
      apply({ type: 'membership', api, productIds }, () => state.setMembership(api, productIds)),
    revokeToken: (token) =>
      apply({ type: 'revoked', tokens: [token] }, () => {
        if (!state.addRevokedToken(token)) throw tooManyRevokedTokens()
      }),
    revokePeople: (people) =>
      apply({ type: 'revokedPeople', people }, () => {
        if (!people.every((person) => state.addRevokedPerson(person))) throw tooManyRevokedTokens()
      }),
    applyProviders: (providers) => apply({ type: 'providers', providers }, () => state.setProviders(providers)),
    setKeys: (jwks) => apply({ type: 'keys', jwks }, () => state.setKeys(jwks)),
    setGate: (api, key, gate) => apply({ type: 'gate', key, gate }, () => state.setGate(api, key, gate)),
    setCertificates: (tls) => apply({ type: 'certificates', tls }, () => state.setCertificates(tls)),
    threads: () => workers.states(),
    releaseBlocks: (api) => workers.enqueue(() => workers.execute({ type: 'blocks', api })),
  }
}

function tooManyRevokedTokens(): Problem {
  return new Problem('unavailable', 'The maximum number of revoked tokens is reached. Retry after some have expired.')
}

async function prepareRevision(
  workers: Workers,
  state: ServingState,
  plan: PackedPlan,
  slas: readonly SlaPlan[],
): ReturnType<GatewayPort['prepare']> {
  const id = workers.createId()
  // In order with the commands before, but no later command waits: a revocation must not wait for a large document.
  const { capturedAt, compiling } = await workers.enqueue(async () => {
    return { capturedAt: state.membershipVersion(), compiling: workers.prepare(id, { plan, slas }) }
  })
  const { error, preparedOn } = await compiling
  const prepared: PreparedRevision = {
    swap: () =>
      workers.enqueue(async () => {
        await workers.swap(id, { plan: state.setPlan(plan, slas, capturedAt), slas }, preparedOn)
      }),
    abort: () => void workers.enqueue(() => workers.broadcast({ type: 'abort', prepared: id })),
  }
  if (error === null) return prepared
  prepared.abort()
  throw toCompileProblem(error)
}

type Threads = ReadonlySet<GatewayWorker>

/** The workers of the pool: starts, replaces and stops them, and sends commands to all of them. */
class Workers {
  readonly #options: GatewayPoolOptions
  readonly #state: ServingState
  /** By thread index; null while a thread has ended and its replacement has not been created. */
  readonly #workers: (GatewayWorker | null)[]
  #port: number
  #lastId = 0
  #isStopping = false
  /** The first workers, by thread index, while their threads load. */
  #loading: readonly GatewayWorker[] = []
  #stopped: Promise<void> | null = null
  #queue: Promise<unknown> = Promise.resolve()

  constructor(options: GatewayPoolOptions, state: ServingState) {
    this.#options = options
    this.#state = state
    this.#port = options.port
    this.#workers = Array.from({ length: options.threads }, () => null)
  }

  createId(): number {
    return ++this.#lastId
  }

  /** A thread needs a second until it accepts commands. */
  load(): void {
    this.#loading = this.#workers.map((_, index) => this.#createWorker(index))
    // The start reports it.
    for (const { loaded } of this.#loading) loaded.catch(() => {})
  }

  start(): Promise<number> {
    return this.enqueue(async () => {
      if (this.#loading.length === 0) this.load()
      const workers = this.#loading
      await Promise.all(workers.map(({ loaded }) => loaded))
      this.#loading = []
      if (this.#workers.includes(null)) throw new Error('a gateway thread has ended before it served')
      // They compile at the same time; the first one that listens may choose the port of all.
      await Promise.all(workers.map((worker) => this.#restoreState(worker)))
      for (const worker of workers) await this.#listen(worker)
      return this.#port
    })
  }

  /** Runs `work` after all earlier commands have settled. */
  enqueue<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work)
    this.#queue = done.catch(() => {})
    return done
  }

  /** Sends a command to all threads; throws if one of them fails. */
  async execute(command: Command): Promise<void> {
    const error = await this.broadcast(command)
    if (error !== null) throw toCommandProblem(error)
  }

  /** Sends a command to all threads that listen; returns the first error. */
  async broadcast(command: Command, id = this.createId()): Promise<CommandError | null> {
    const errors = await Promise.all(this.#ready().map((worker) => worker.post(id, command)))
    return errors.find((error) => error !== null) ?? null
  }

  /** Compiles on half of the threads at a time, so that the others serve meanwhile. */
  async prepare(
    id: number,
    { plan, slas }: StoredRevision,
  ): Promise<{ error: CommandError | null; preparedOn: Threads }> {
    const preparedOn = new Set<GatewayWorker>()
    const half = Math.ceil(this.#workers.length / 2)
    for (const [from, to] of [[0, half], [half]]) {
      const group = this.#ready(from, to)
      const errors = await Promise.all(group.map((worker) => worker.post(id, { type: 'prepare', plan, slas })))
      const error = errors.find((fault) => fault !== null)
      if (error !== undefined) return { error, preparedOn }
      for (const worker of group) preparedOn.add(worker)
    }
    return { error: null, preparedOn }
  }

  /** A thread that has been replaced since the revision was prepared compiles it now. */
  async swap(id: number, revision: StoredRevision, preparedOn: Threads): Promise<void> {
    const swap = (worker: GatewayWorker): Promise<void> =>
      preparedOn.has(worker) ? this.#swapOn(worker, id, revision) : this.#restoreRevision(worker, revision)
    await Promise.all(this.#ready().map(swap))
  }

  states(): ReturnType<GatewayPool['threads']> {
    return this.#workers.map((worker, thread) => ({
      thread,
      isReady: worker?.isReady === true,
      callsInFlight: worker?.callsInFlight ?? 0,
    }))
  }

  #ready(from = 0, to = this.#workers.length): readonly GatewayWorker[] {
    return this.#workers.slice(from, to).filter((worker): worker is GatewayWorker => worker?.isReady === true)
  }

  stop(): Promise<void> {
    this.#isStopping = true
    return (this.#stopped ??= this.#stop())
  }

  async #stop(): Promise<void> {
    const live = this.#workers.filter((worker) => worker !== null)
    // Their threads have no calls.
    await Promise.all(this.#loading.map((worker) => worker.terminate()))
    const serving = live.filter((worker) => !this.#loading.includes(worker))
    const drained = Promise.all(serving.map((worker) => worker.post(this.createId(), { type: 'drain' })))
    const { promise: timeout, resolve: giveUp } = Promise.withResolvers<void>()
    const cancel = this.#options.clock.after(DRAIN_WITHIN_MS, giveUp)
    await Promise.race([drained, timeout])
    cancel()
    await Promise.all(live.map((worker) => worker.terminate()))
  }

  async #startWorker(index: number): Promise<void> {
    const worker = this.#createWorker(index)
    await worker.loaded
    await this.#restoreState(worker)
    await this.#listen(worker)
  }

  #createWorker(index: number): GatewayWorker {
    const worker = new GatewayWorker(index, this.#options, {
      onListening: (port) => void (this.#port = port),
      onExit: (ended, code) => this.#onExit(ended, code),
    })
    this.#workers[index] = worker
    return worker
  }

  async #listen(worker: GatewayWorker): Promise<void> {
    await this.#executeOn(worker, { type: 'listen', port: this.#port })
    worker.isReady = true
  }

  async #restoreState(worker: GatewayWorker): Promise<void> {
    for (const command of this.#state.restoreCommands()) await this.#executeOn(worker, command)
    await sendInBatches(this.#state.plans(), (revisions) => this.#executeOn(worker, { type: 'restore', revisions }))
  }

  async #restoreRevision(worker: GatewayWorker, { plan, slas }: StoredRevision): Promise<void> {
    const id = this.createId()
    const error = await worker.post(id, { type: 'prepare', plan, slas })
    if (error !== null) throw toCompileProblem(error)
    await this.#swapOn(worker, id, { plan, slas })
  }

  #swapOn(worker: GatewayWorker, prepared: number, { plan: { memberOfProductIds } }: StoredRevision): Promise<void> {
    return this.#executeOn(worker, { type: 'swap', prepared, memberOfProductIds })
  }

  async #executeOn(worker: GatewayWorker, command: Command): Promise<void> {
    const error = await worker.post(this.createId(), command)
    if (error !== null) throw toCommandProblem(error)
  }

  #onExit(worker: GatewayWorker, code: number): void {
    const { log, clock, onThreadGone, onCount } = this.#options
    const { index, callsInFlight: callsLost } = worker
    this.#workers[index] = null
    // A start fails with a thread that does not load.
    if (this.#isStopping || this.#loading.includes(worker)) return
    onThreadGone(index)
    if (callsLost > 0) onCount('call_lost_with_thread', callsLost)
    log.error(
      { thread: index, code, callsLost },
      'gateway thread ended and its calls were lost; starting a replacement',
    )
    clock.after(RESTART_AFTER_MS, () => this.#replace(index))
  }

  #replace(index: number): void {
    if (this.#isStopping) return
    this.enqueue(() => this.#startWorker(index)).catch((cause: unknown) =>
      this.#options.log.fatal(
        { err: cause, thread: index },
        'gateway thread could not be replaced; the service continues with fewer threads until it is restarted',
      ),
    )
  }
}

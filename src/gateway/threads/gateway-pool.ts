/**
 * The gateway threads as the main thread sees them: one set that changes as one.
 *
 * A command goes to every thread and is done when every thread has acknowledged it; commands are sent
 * one after the other, so that all threads go through the same states in the same order. What is in
 * force is kept (`in-force.ts`), and a thread that had to be started again is brought to it before it
 * takes its first call. A thread that dies takes down only its own calls.
 */

import { Worker } from 'node:worker_threads'
import type { PreparedRevision } from '../../plan/gateway-port.ts'
import type { RoutePlan } from '../../plan/route-plan.ts'
import { Problem } from '../../domain/problem.ts'
import type { SlaPlan } from '../../plan/sla-plan.ts'
import { notCompiled, notDone } from '../messages/command-error.ts'
import type { Fleet, FleetOptions } from './gateway-pool-options.ts'
import { createInForce } from './serving-state.ts'
import type { Command, CommandError, Requests, ThreadSettings, ToHost, ToThread } from '../messages/messages.ts'

interface Thread {
  readonly worker: Worker
  readonly waiting: Map<number, (error: CommandError | null) => void>
  readonly grownFlag: Int32Array
  readonly inFlight: Int32Array
  isReady: boolean
}

const ACKNOWLEDGE_WITHIN_MS = 120_000
const DRAIN_WITHIN_MS = 30_000
const GROWTH_REST_MS = 10
const YOUNG_GENERATION_MB = 64

export function createFleet(options: FleetOptions): Fleet {
  const { threads: size, settings, answers, clock, log } = options
  const threads: (Thread | null)[] = Array.from({ length: size }, () => null)
  const inForce = createInForce(clock.nowMs)
  let port = options.port
  let nextId = 1
  let isStopping = false
  let queue: Promise<unknown> = Promise.resolve()

  function start(): Promise<number> {
    return inOrder(async () => {
      for (let index = 0; index < size; index++) await startThread(index)
      return port
    })
  }

  function startThread(index: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const grown = new SharedArrayBuffer(4)
    const inFlight = new SharedArrayBuffer(4)
    const workerData: ThreadSettings = { ...settings, thread: index, threads: size, grown, inFlight }
    const worker = new Worker(options.entry, {
      workerData,
      name: `gateway-${index}`,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    })
    const thread: Thread = {
      worker,
      waiting: new Map(),
      grownFlag: new Int32Array(grown),
      inFlight: new Int32Array(inFlight),
      isReady: false,
    }
    threads[index] = thread
    worker.on('message', (message: ToHost) => hear(thread, message, resolve))
    worker.on('error', (cause) => {
      log.error({ err: cause, thread: index }, 'a gateway thread has failed')
      reject(cause)
    })
    worker.on('exit', (code) => gone(index, thread, code, reject))
    return promise.then(() => bringUp(thread))
  }

  /** Brings a fresh thread to what is in force, and only then lets it listen. */
  async function bringUp(thread: Thread): Promise<void> {
    for (const word of inForce.words()) await send(thread, word)
    for (const { plan, slas } of inForce.plans()) {
      const id = await prepareOn(thread, plan, slas)
      await send(thread, { type: 'swap', prepared: id })
    }
    await send(thread, { type: 'listen', port })
    thread.isReady = true
  }

  async function prepareOn(thread: Thread, plan: RoutePlan, slas: readonly SlaPlan[]): Promise<number> {
    const id = nextId++
    const error = await post(thread, id, { type: 'prepare', plan, slas })
    if (error !== null) throw notCompiled(error)
    return id
  }

  function hear(thread: Thread, message: ToHost, onLoaded: () => void): void {
    switch (message.type) {
      case 'loaded':
        return onLoaded()
      case 'listening':
        return void (port = message.port)
      case 'acknowledged':
        thread.waiting.get(message.id)?.(message.error)
        thread.waiting.delete(message.id)
        return
      case 'request':
        return void answer(thread, message.id, message.name, message.ask)
      case 'grown':
        return grown(thread)
      case 'drift':
        return options.onDrift(message.drift)
      case 'upstream':
        return options.onUpstream(message.reports)
      case 'counted':
        return message.counts.forEach(([reason, by]) => options.onCount(reason, by))
      case 'damage':
        return options.onDamage(message.damage)
      case 'log':
        return log[message.level]({ thread: threads.indexOf(thread), detail: message.detail }, message.message)
    }
  }

  /** The thread reports again only after a rest (measured: 1.3 µs a call less); the reader looks once more then. */
  function grown(thread: Thread): void {
    options.onGrowth()
    clock.after(GROWTH_REST_MS, () => {
      Atomics.store(thread.grownFlag, 0, 0)
      options.onGrowth()
    })
  }

  async function answer(thread: Thread, id: number, name: keyof Requests, ask: unknown): Promise<void> {
    try {
      const value = await (answers[name] as (ask: unknown) => Promise<unknown>)(ask)
      tell(thread, { type: 'answer', id, value })
    } catch (cause) {
      log.error({ err: cause, name }, 'request of a gateway thread failed on the main thread; its call is answered 503')
      tell(thread, { type: 'failed', id, reason: `${name} failed` })
    }
  }

  function gone(index: number, thread: Thread, code: number, reject: (cause: Error) => void): void {
    reject(new Error(`gateway thread ${index} ended with code ${code}`))
    for (const settle of thread.waiting.values()) settle(null)
    thread.waiting.clear()
    threads[index] = null
    if (isStopping) return
    options.onThreadGone(index)
    const callsLost = thread.inFlight[0]!
    if (callsLost > 0) options.onCount('call_lost_with_thread', callsLost)
    log.error({ thread: index, code, callsLost }, 'gateway thread ended, its calls were cut off; starting another')
    clock.after(100, () => {
      if (isStopping) return
      queue = queue
        .then(() => startThread(index))
        .catch((cause) => log.fatal({ err: cause }, 'a gateway thread cannot start'))
    })
  }

  function tell(thread: Thread, message: ToThread): void {
    thread.worker.postMessage(message)
  }

  function post(thread: Thread, id: number, command: Command): Promise<CommandError | null> {
    const { promise, resolve } = Promise.withResolvers<CommandError | null>()
    const cancel = clock.after(ACKNOWLEDGE_WITHIN_MS, () =>
      resolve({ detail: `A gateway thread did not acknowledge ${command.type} in time.`, errors: [] }),
    )
    thread.waiting.set(id, (error) => {
      cancel()
      resolve(error)
    })
    tell(thread, { type: 'command', id, command })
    return promise
  }

  async function send(thread: Thread, command: Command): Promise<void> {
    const error = await post(thread, nextId++, command)
    if (error !== null) throw notDone(error)
  }

  /** Runs `work` when all commands before it are done. */
  function inOrder<T>(work: () => Promise<T>): Promise<T> {
    const done = queue.then(work)
    queue = done.catch(() => {})
    return done
  }

  async function toAll(command: Command, id = nextId++): Promise<CommandError | null> {
    const live = threads.filter((thread) => thread?.isReady === true)
    const errors = await Promise.all(live.map((thread) => (thread === null ? null : post(thread, id, command))))
    return errors.find((error) => error !== null) ?? null
  }

  async function acknowledged(command: Command): Promise<void> {
    const error = await toAll(command)
    if (error !== null) throw notDone(error)
  }

  async function prepare(plan: RoutePlan, slas: readonly SlaPlan[]): Promise<PreparedRevision> {
    const id = nextId++
    let since = 0
    const error = await inOrder(() => {
      since = inForce.now()
      return toAll({ type: 'prepare', plan, slas }, id)
    })
    if (error !== null) {
      void inOrder(() => toAll({ type: 'abort', prepared: id }))
      throw notCompiled(error)
    }
    return {
      swap: () =>
        inOrder(async () => {
          inForce.swap(plan, slas, since)
          await acknowledged({ type: 'swap', prepared: id })
        }),
      abort: () => void inOrder(() => toAll({ type: 'abort', prepared: id })),
    }
  }

  return {
    start,
    prepare,
    applySla: (sla) =>
      inOrder(async () => {
        inForce.sla(sla)
        await acknowledged({ type: 'sla', sla })
      }),
    applyGrant: (grant) => inOrder(() => acknowledged({ type: 'grant', grant })),
    applyMembership: (api, productIds) =>
      inOrder(async () => {
        inForce.membership(api, productIds)
        await acknowledged({ type: 'membership', api, productIds })
      }),
    revokeToken: (token) =>
      inOrder(async () => {
        if (!inForce.revoked(token)) throw new Problem('unavailable', 'Too many tokens are revoked at the moment.')
        await acknowledged({ type: 'revoked', tokens: [token] })
      }),
    applyProviders: (providers) =>
      inOrder(async () => {
        inForce.providers(providers)
        await acknowledged({ type: 'providers', providers })
      }),
    setKeys: (jwks) =>
      inOrder(async () => {
        inForce.keys(jwks)
        await acknowledged({ type: 'keys', jwks })
      }),
    setGate: (api, gate) =>
      inOrder(async () => {
        inForce.gate(api, gate)
        await acknowledged({ type: 'gate', api, gate })
      }),
    releaseBlocks: (api) => inOrder(() => acknowledged({ type: 'blocks', api })),
    async stop() {
      isStopping = true
      const live = threads.filter((thread) => thread !== null)
      const drained = Promise.all(live.map((thread) => post(thread, nextId++, { type: 'drain' })))
      const { promise: late, resolve: giveUp } = Promise.withResolvers<void>()
      const cancel = clock.after(DRAIN_WITHIN_MS, giveUp)
      await Promise.race([drained, late])
      cancel()
      await Promise.all(live.map(({ worker }) => worker.terminate()))
    },
  }
}

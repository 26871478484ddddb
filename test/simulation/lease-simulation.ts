/**
 * Simulates the lease protocol: three nodes, a grantor, a registry and a network in virtual time, with faults.
 *
 * Everything follows from the seed. Every admission is checked against the declaration at the moment at which it happens.
 */

import type { LeaseTimings } from '../../src/boundary/leases/lease-timings.ts'
import { createRandom, type Random } from '../random.ts'
import { EventQueue } from './event-queue.ts'
import { LeaseChecker } from './lease-checker.ts'
import { scheduleFaults, scheduleRemovals, type Surroundings } from './lease-faults.ts'
import { LeaseLimits, LIMIT_NAMES, type LimitName } from './lease-limits.ts'
import { LeaseNetwork } from './lease-network.ts'
import { LeaseProcess, type PlantedInNode } from './lease-process.ts'
import { LeaseRegistry, MEMBER_MS } from './lease-registry.ts'
import { LeaseServer, type Grant } from './lease-server.ts'

export interface Planted extends PlantedInNode {
  readonly grant?: Grant
  readonly ignoresClocks?: boolean
  readonly silentMs?: number
}

export interface SimulationOptions {
  readonly seed: number
  readonly planted?: Planted
  readonly isFaultless?: boolean
  /** Nodes also leave the list of the registry, in longer schedules. */
  readonly areRemoved?: boolean
  /** Ends all faults after the schedule, and lets the nodes recover. */
  readonly isHealed?: boolean
}

export interface SimulationResult {
  readonly admitted: number
  /** Calls that were admitted after all faults had ended, and whether all nodes can be granted leases again. */
  readonly admittedHealed: number
  readonly isServing: boolean
}

/** Shorter than in production, so that more happens in a schedule. */
const SHORT_TIMINGS: LeaseTimings = {
  leaseMs: 1_500,
  marginMs: 100,
  requestMs: 250,
  replyMs: 800,
  toleranceMs: 250,
  vouchMs: 500,
  heartbeatMs: 200,
  aheadMs: 300,
  leastAheadMs: null,
  leastAhead: null,
  memoryMs: 1_000,
  openMs: null,
  retryMs: 100,
  returnMs: 300,
  keepMs: 2_000,
  refreshMsEach: 0,
  windowMarginMs: 10_000,
  silentMs: MEMBER_MS,
}
/** Nodes that lease far ahead and return late. */
const GENEROUS_TIMINGS: LeaseTimings = { ...SHORT_TIMINGS, aheadMs: 3_000, returnMs: 5_000, keepMs: 5_000 }
const NODES = 3
const LENGTH_MS = 12_000
const LENGTH_REMOVED_MS = 120_000
const RECOVERY_MS = 8_000

/** Runs one schedule. Throws `OverAdmission` at the first call that the declaration does not allow. */
export function simulateLeases({
  seed,
  planted = {},
  isFaultless = false,
  isHealed = false,
  areRemoved = false,
}: SimulationOptions): SimulationResult {
  const random = createRandom(seed)
  const queue = new EventQueue()
  const { silentMs = MEMBER_MS } = planted
  const timings = { ...(random.below(2) === 0 ? GENEROUS_TIMINGS : SHORT_TIMINGS), silentMs }
  const lengthMs = areRemoved ? LENGTH_REMOVED_MS : LENGTH_MS
  const server = new LeaseServer(timings, planted.grant, planted.ignoresClocks)
  const network = new LeaseNetwork(queue, random, server)
  const registry = new LeaseRegistry(queue)
  const limits = new LeaseLimits(random, NODES)
  const checker = new LeaseChecker()
  const processes = Array.from(
    { length: NODES },
    (_, number) =>
      new LeaseProcess({
        number,
        queue,
        random,
        timings,
        network,
        registry,
        limits,
        checker,
        planted,
      }),
  )
  const all = { queue, random, server, network, registry, limits, processes }
  for (const process of processes) scheduleCalls(process, queue, random)
  if (isFaultless) Object.assign(network, { delayMsMax: 3, lossShare: 0, repeatShare: 0 })
  else if (areRemoved) scheduleRemovals(all, lengthMs)
  else scheduleFaults(all, lengthMs)
  queue.runUntil(lengthMs)
  const { admitted } = checker
  if (isHealed) heal(all, lengthMs)
  return {
    admitted,
    admittedHealed: checker.admitted - admitted,
    isServing: processes.every((process) => process.isServing),
  }
}

function heal({ queue, server, network, registry, processes }: Surroundings, lengthMs: number): void {
  // The faults that last end by themselves; their time differs.
  queue.runUntil(lengthMs + RECOVERY_MS / 2)
  Object.assign(network, { delayMsMax: 3, lossShare: 0, repeatShare: 0 })
  network.cutOff.clear()
  server.isUp = true
  registry.isUp = true
  for (const process of processes) process.start()
  queue.runUntil(lengthMs + 2 * RECOVERY_MS)
}

function scheduleCalls(process: LeaseProcess, queue: EventQueue, random: Random): void {
  const pauseMs = 10 + random.below(150)
  const isBursty = random.below(2) === 0
  const arrive = (): void => {
    const calls = isBursty ? 1 + random.below(12) : 1
    const names = pickNames(random)
    for (let call = 0; call < calls; call++) process.call(names)
    queue.after(random.below(2 * pauseMs) * calls, arrive)
  }
  queue.after(random.below(500), arrive)
}

function pickNames(random: Random): readonly LimitName[] {
  return random.below(4) === 0 ? LIMIT_NAMES : [LIMIT_NAMES[random.below(4)]!]
}

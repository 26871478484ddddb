/**
 * Simulates slices: three nodes, a database and a network in virtual time, with faults, around the end of a month.
 *
 * Everything follows from the seed. In half of the schedules the database is rewound; in the others nodes lose their disks, because
 * what a node used after the state that a database went back to is known to that node only.
 */

import type { LeaseTimings } from '../../src/boundary/leases/lease-timings.ts'
import { createRandom, type Random } from '../random.ts'
import { EventQueue } from './event-queue.ts'
import { LeaseChecker } from './lease-checker.ts'
import { LeaseNetwork } from './lease-network.ts'
import { SliceDatabase, type GrantSlices, type SentMessage } from './slice-database.ts'
import { SLICE_NAMES, SliceLimits } from './slice-limits.ts'
import { SliceProcess, type PlantedInSlices } from './slice-process.ts'

export interface PlantedSliceFault extends PlantedInSlices {
  readonly grant?: GrantSlices
}

export interface SliceSimulationOptions {
  readonly seed: number
  readonly planted?: PlantedSliceFault
  /** Ends all faults after the schedule, and lets the nodes recover. */
  readonly isHealed?: boolean
  /** Some calls use more than they cost, beyond the lease of their node. */
  readonly hasOverdrafts?: boolean
}

export interface SliceSimulationResult {
  readonly admitted: number
  readonly admittedHealed: number
  readonly isServing: boolean
}

/** Shorter than in production, so that more happens in a schedule. */
const TIMINGS: LeaseTimings = {
  leaseMs: 1_500,
  marginMs: 100,
  requestMs: 250,
  replyMs: 800,
  toleranceMs: 250,
  vouchMs: null,
  heartbeatMs: 300,
  aheadMs: 3_000,
  leastAheadMs: 100,
  leastAhead: { calls: 2, shareMax: 0.1 },
  memoryMs: 1_000,
  openMs: 200,
  retryMs: 100,
  returnMs: 300,
  keepMs: 3_000,
  refreshMsEach: 5,
  windowMarginMs: 4_000,
  silentMs: null,
}
const GENEROUS_TIMINGS: LeaseTimings = { ...TIMINGS, aheadMs: 20_000, openMs: 1_000, returnMs: 2_000 }
const NODES = 3
const LENGTH_MS = 12_000
const MONTH_END_MS = 6_000
const RECOVERY_MS = 12_000

interface Surroundings {
  readonly queue: EventQueue
  readonly random: Random
  readonly database: SliceDatabase
  readonly network: LeaseNetwork<SentMessage>
  readonly limits: SliceLimits
  readonly processes: readonly SliceProcess[]
}

/** Runs one schedule. Throws `OverAdmission` at the first call that the declaration does not allow. */
export function simulateSlices({
  seed,
  planted = {},
  isHealed = false,
  hasOverdrafts = false,
}: SliceSimulationOptions): SliceSimulationResult {
  const random = createRandom(seed)
  const queue = new EventQueue()
  const timings = random.below(2) === 0 ? GENEROUS_TIMINGS : TIMINGS
  const listed = Array.from({ length: NODES }, (_, number) => `node-${number}`)
  const database = new SliceDatabase(seed, listed, timings, planted.grant)
  const network = new LeaseNetwork(queue, random, database)
  const limits = new SliceLimits(random, NODES)
  const checker = new LeaseChecker()
  const surroundings = { queue, random, database, network, limits }
  const processes = listed.map(
    (_, number) => new SliceProcess({ number, timings, checker, planted, hasOverdrafts, ...surroundings }),
  )
  const all = { ...surroundings, processes }
  for (const process of processes) scheduleCalls(process, all)
  scheduleFaults(all)
  queue.runUntil(LENGTH_MS)
  const { admitted } = checker
  if (isHealed) heal(all)
  return {
    admitted,
    admittedHealed: checker.admitted - admitted,
    isServing: processes.every((process) => process.isServing),
  }
}

function heal({ queue, database, network, processes }: Surroundings): void {
  queue.runUntil(LENGTH_MS + RECOVERY_MS / 2)
  Object.assign(network, { delayMsMax: 3, lossShare: 0, repeatShare: 0 })
  network.cutOff.clear()
  database.isUp = true
  for (const process of processes) process.start()
  queue.runUntil(LENGTH_MS + RECOVERY_MS)
  // Whatever was used before, the next month has a budget of its own.
  database.setClock(40 * 86_400_000)
  queue.runUntil(LENGTH_MS + 2 * RECOVERY_MS)
}

function scheduleCalls(process: SliceProcess, { queue, random, limits }: Surroundings): void {
  const pauseMs = 10 + random.below(150)
  const isBursty = random.below(2) === 0
  const arrive = (): void => {
    const calls = isBursty ? 1 + random.below(12) : 1
    for (let call = 0; call < calls; call++) {
      const names = random.below(3) === 0 ? SLICE_NAMES : [SLICE_NAMES[random.below(3)]!]
      process.call(new Map(names.map((name) => [name, limits.costOf(name)])))
    }
    queue.after(random.below(2 * pauseMs) * calls, arrive)
  }
  queue.after(random.below(500), arrive)
}

function scheduleFaults(all: Surroundings): void {
  const { queue, random } = all
  const faults = [...FAULTS, random.below(2) === 0 ? REWIND : LOST_DISK]
  for (let index = 1 + random.below(10); index > 0; index--) {
    const fault = faults[random.below(faults.length)]!
    queue.after(500 + random.below(LENGTH_MS - 1_000), () => fault(all))
  }
}

type Fault = (all: Surroundings) => void

const pick = ({ random, processes }: Surroundings): SliceProcess => processes[random.below(NODES)]!

const step = (random: Random): number => (random.below(2) === 0 ? -1 : 1) * (300 + random.below(3_000))

const REWIND: Fault = ({ queue, random, database }) => {
  database.save()
  queue.after(random.below(1_500), () => {
    database.isUp = false
    queue.after(random.below(1_500), () => {
      database.rewind()
      database.isUp = true
    })
  })
}

const LOST_DISK: Fault = (all) => {
  const process = pick(all)
  process.crash()
  process.loseDisk()
  all.queue.after(all.random.below(2_000), () => process.start())
}

const FAULTS: readonly Fault[] = [
  (all) => {
    const process = pick(all)
    process.crash()
    all.queue.after(all.random.below(2_000), () => process.start())
  },
  ({ queue, random, network }) => {
    const node = random.below(NODES)
    network.cutOff.add(node)
    queue.after(random.below(4_000), () => network.cutOff.delete(node))
  },
  // A restart of the database loses nothing that was committed.
  ({ queue, random, database }) => {
    database.isUp = false
    queue.after(random.below(3_000), () => (database.isUp = true))
  },
  ({ random, database }) => database.setClock(step(random)),
  // The month that has just ended is open again.
  ({ queue, random, database }) => {
    queue.after(MONTH_END_MS - queue.nowMs + random.below(1_000), () => database.setClock(-1_200 - random.below(2_000)))
  },
  (all) => pick(all).setWallClock(step(all.random)),
  (all) => pick(all).freeze(100 + all.random.below(4_000), all.random.below(2) === 0),
  ({ queue, random, network }) => {
    const before = network.delayMsMax
    network.delayMsMax = 50 + random.below(600)
    queue.after(random.below(3_000), () => (network.delayMsMax = before))
  },
  ({ queue, random, limits, processes }) => {
    const name = limits.change()
    for (const process of processes) queue.after(random.below(1_500), () => process.follow(name))
  },
]

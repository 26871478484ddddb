/** Faults of nodes, the grantor, the registry and the network between them, at random times. */

import type { LeaseMessage } from '../../src/boundary/leases/lease-messages.ts'
import type { Random } from '../random.ts'
import type { EventQueue } from './event-queue.ts'
import type { LeaseLimits } from './lease-limits.ts'
import type { LeaseNetwork } from './lease-network.ts'
import type { LeaseProcess } from './lease-process.ts'
import { MEMBER_MS, type LeaseRegistry } from './lease-registry.ts'
import type { LeaseServer } from './lease-server.ts'

export interface Surroundings {
  readonly queue: EventQueue
  readonly random: Random
  readonly server: LeaseServer
  readonly network: LeaseNetwork<LeaseMessage>
  readonly registry: LeaseRegistry
  readonly limits: LeaseLimits
  readonly processes: readonly LeaseProcess[]
}

/** Twice as long as a removed node is a member. */
const ABSENT_MS_MAX = 2 * MEMBER_MS

type Fault = (all: Surroundings) => void

export function scheduleFaults(all: Surroundings, lengthMs: number): void {
  schedule(all, lengthMs, 1 + all.random.below(10), FAULTS)
}

/** Nodes also leave the list of the registry, or are removed from it: they are dead, or run on and are cut off. */
export function scheduleRemovals(all: Surroundings, lengthMs: number): void {
  // A grantor that lost its data has only the list: a node must not be removed from it while it runs.
  const faults = all.random.below(2) === 0 ? [...FAULTS, leave, leave] : [...LASTING_FAULTS, leave, removeAndCutOff]
  schedule(all, lengthMs, 5 + all.random.below(15), [...faults, restartAll])
}

function schedule(all: Surroundings, lengthMs: number, count: number, faults: readonly Fault[]): void {
  const { queue, random } = all
  for (let index = 0; index < count; index++) {
    const fault = faults[random.below(faults.length)]!
    queue.after(500 + random.below(lengthMs - 1_000), () => fault(all))
  }
}

const pick = ({ random, processes }: Pick<Surroundings, 'random' | 'processes'>): LeaseProcess =>
  processes[random.below(processes.length)]!

/** A node is stopped for good, or for long; on another machine it has no journal. */
function leave(all: Surroundings): void {
  const { queue, random } = all
  const process = pick(all)
  process.crash()
  process.leaveList()
  if (random.below(2) === 0) process.loseDisk()
  queue.after(random.below(ABSENT_MS_MAX), () => process.start())
}

/** A node that runs is removed, at once or long before it is cut off. Meanwhile the others begin two generations. */
function removeAndCutOff(all: Surroundings): void {
  const { queue, random, network } = all
  const process = pick(all)
  process.leaveList()
  queue.after(random.below(2) * MEMBER_MS, () => {
    network.cutOff.add(process.number)
    for (let times = 0; times < 2; times++) {
      queue.after(random.below(1_000) + times * 3_000, () => restart(all, process))
    }
    queue.after(random.below(ABSENT_MS_MAX), () => {
      network.cutOff.delete(process.number)
      process.joinList()
    })
  })
}

const restartAll = (all: Surroundings): void => restart(all, null)

/** No node can confirm the clock to another, so that they begin a new generation. */
function restart({ queue, random, processes }: Surroundings, except: LeaseProcess | null): void {
  for (const process of processes) {
    if (process === except) continue
    process.crash()
    queue.after(random.below(1_000), () => process.start())
  }
}

/** The grantor loses data. */
const RESTARTS: readonly Fault[] = [
  ({ queue, random, server }) => {
    queue.after(-1, () => server.takeSnapshot())
    queue.after(random.below(1_500), () => {
      server.isUp = false
      queue.after(random.below(1_500), () => server.restart('snapshot'))
    })
  },
  ({ queue, random, server }) => {
    server.isUp = false
    queue.after(random.below(1_500), () => server.restart('empty'))
  },
]

const LASTING_FAULTS: readonly Fault[] = [
  ({ queue, random, processes }) => {
    const process = pick({ random, processes })
    process.crash()
    if (random.below(4) === 0) process.loseDisk()
    queue.after(random.below(2_000), () => process.start())
  },
  ({ queue, random, network, processes }) => {
    const node = random.below(processes.length)
    network.cutOff.add(node)
    queue.after(random.below(random.below(2) === 0 ? 8_000 : 4_000), () => network.cutOff.delete(node))
  },
  ({ queue, random, server }) => {
    server.isUp = false
    queue.after(random.below(3_000), () => (server.isUp = true))
  },
  ({ random, server }) => server.setClock((random.below(2) === 0 ? -1 : 1) * (1_000 + random.below(3_000))),
  ({ random, processes }) => {
    pick({ random, processes }).setWallClock((random.below(2) === 0 ? -1 : 1) * (1_000 + random.below(3_000)))
  },
  ({ random, processes }) => {
    pick({ random, processes }).freeze(100 + random.below(4_000), random.below(2) === 0)
  },
  ({ queue, random, network }) => {
    const before = network.delayMsMax
    network.delayMsMax = 50 + random.below(600)
    queue.after(random.below(3_000), () => (network.delayMsMax = before))
  },
  ({ queue, random, registry }) => {
    registry.isUp = false
    queue.after(random.below(3_000), () => (registry.isUp = true))
  },
  ({ queue, random, limits, processes }) => {
    const name = limits.change()
    for (const process of processes) queue.after(random.below(1_500), () => process.follow(name))
  },
]

const FAULTS: readonly Fault[] = [...LASTING_FAULTS.slice(0, 2), ...RESTARTS, ...LASTING_FAULTS.slice(2)]

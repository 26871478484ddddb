/**
 * Simulates the signals of risks: three nodes, a server and a network in virtual time, with faults.
 *
 * Everything follows from the seed. The invariants are checked after every commit and every published event, and after all faults
 * have ended.
 */

import { createRandom, type Random } from '../random.ts'
import { EventQueue } from './event-queue.ts'
import { BrokenInvariant, CallLedger } from './signal-checker.ts'
import type { PlantedInConnection, SignalNetwork } from './signal-connection.ts'
import { SignalProcess } from './signal-process.ts'
import { SignalServer, type PlantedInServer } from './signal-server.ts'

export interface PlantedInSignals extends PlantedInServer, PlantedInConnection {}

export interface SignalSimulationResult {
  readonly calls: number
  readonly events: number
}

const NODES = 3
const LENGTH_MS = 8_000
const RECOVERY_MS = 6_000

/** Runs one schedule. Throws `BrokenInvariant` with what was found first. */
export async function simulateSignals(seed: number, planted: PlantedInSignals = {}): Promise<SignalSimulationResult> {
  const random = createRandom(seed)
  const queue = new EventQueue()
  const server = new SignalServer(queue, planted)
  const network: SignalNetwork = {
    cutOff: new Set(),
    delayMsMax: 1 + random.below(30),
    lossShare: random.below(2) === 0 ? 0.03 : 0,
  }
  const ledger = new CallLedger()
  let broken: unknown = null
  const onBroken = (cause: unknown): void => {
    if (cause instanceof BrokenInvariant) broken ??= cause
  }
  const shared = { queue, random, network, server, planted, ledger, onBroken }
  const processes = Array.from({ length: NODES }, (_, node) => new SignalProcess({ ...shared, node }))
  for (const process of processes) scheduleCalls(process, queue, random)
  scheduleHints(processes, queue, random)
  const faults = 1 + random.below(8)
  for (let index = 0; index < faults; index++) {
    const fault = FAULTS[random.below(FAULTS.length)]!
    queue.after(random.below(LENGTH_MS), () => fault({ queue, random, network, server, processes }))
  }
  // The faults that last end by themselves; their time differs.
  await queue.settleUntil(LENGTH_MS + RECOVERY_MS / 2)
  Object.assign(network, { delayMsMax: 5, lossShare: 0 })
  network.cutOff.clear()
  server.isUp = true
  for (const process of processes) process.start()
  await queue.settleUntil(LENGTH_MS + 2 * RECOVERY_MS)
  // oxlint-disable-next-line typescript/only-throw-error -- it is a `BrokenInvariant`
  if (broken !== null) throw broken
  ledger.checkAll(server)
  return { calls: ledger.total, events: server.events.length }
}

function scheduleCalls(process: SignalProcess, queue: EventQueue, random: Random): void {
  const pauseMs = 100 + random.below(1_000)
  const arrive = (): void => {
    if (queue.nowMs > LENGTH_MS) return
    for (let calls = 1 + random.below(3); calls > 0; calls--) process.call()
    queue.after(random.below(2 * pauseMs), arrive)
  }
  queue.after(random.below(500), arrive)
}

/** A hint may be missed. */
function scheduleHints(processes: readonly SignalProcess[], queue: EventQueue, random: Random): void {
  const hint = (): void => {
    processes[random.below(NODES)]!.hint()
    queue.after(20 + random.below(200), hint)
  }
  queue.after(100, hint)
}

interface Surroundings {
  readonly queue: EventQueue
  readonly random: Random
  readonly network: SignalNetwork
  readonly server: SignalServer
  readonly processes: readonly SignalProcess[]
}

const FAULTS: readonly ((all: Surroundings) => void)[] = [
  ({ queue, random, processes }) => {
    const process = processes[random.below(NODES)]!
    process.crash()
    queue.after(random.below(3_000), () => process.start())
  },
  ({ queue, random, network }) => {
    const node = random.below(NODES)
    network.cutOff.add(node)
    queue.after(random.below(3_000), () => network.cutOff.delete(node))
  },
  ({ queue, random, server }) => {
    server.crash()
    queue.after(random.below(1_500), () => (server.isUp = true))
  },
  ({ queue, random, network }) => {
    const before = network.delayMsMax
    network.delayMsMax = 50 + random.below(500)
    queue.after(random.below(2_000), () => (network.delayMsMax = before))
  },
  ({ queue, random, network }) => {
    const before = network.lossShare
    network.lossShare = 0.3
    queue.after(random.below(2_000), () => (network.lossShare = before))
  },
]

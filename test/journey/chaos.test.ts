/**
 * Three nodes under load, faults and commands at random; the history of all calls is checked against what several nodes promise.
 *
 * `CHAOS_SECONDS` sets how long, `SEED` which faults, `CHAOS_FAULTS` a part of the names of all. The order of events is that of
 * the machine, so a seed does not repeat a run.
 */

// @module-tag postgres
// @module-tag redis-server

import { expect, it } from 'vitest'
import { createRandom, type Random } from '../random.ts'
import { readSeed } from '../random-seed.ts'
import { checkActivations, checkConcurrent, checkRate, checkTotal } from '../simulation/history-checker.ts'
import { startChaosBackend, type ChaosBackend } from './chaos/chaos-backend.ts'
import { startChaosCluster, type ChaosCluster } from './chaos/chaos-cluster.ts'
import { createChaosCommands, declarationOf, documentOf, limitOf, type ChaosCommands } from './chaos/chaos-commands.ts'
import { faultsWith, runFault } from './chaos/chaos-faults.ts'
import { startChaosLoad, type ChaosCaller, type ChaosLoad } from './chaos/chaos-load.ts'
import { enrol, publish, type Service } from './service.ts'

const SECONDS = Number(process.env['CHAOS_SECONDS'] ?? 20)
const SEED = readSeed(1)
const FAULTS = faultsWith(process.env['CHAOS_FAULTS'] ?? '')
const MINUTE = 60_000
const RATE = { value: 60, spanMs: MINUTE }
const SLOTS = 4
const TOTAL = 400
/** Calls of the year, each of which costs half of a unit. */
const QUOTA = 400
const FIRST = 'revision-0'
const BETWEEN_FAULTS = 200
const BILL = { timeout: 2 * MINUTE, interval: 200 }

async function open(
  service: Service,
  backend: ChaosBackend,
  api: string,
  declaration: string | null,
): Promise<ChaosCaller> {
  await publish(service, api, documentOf(api), `${backend.url}/${FIRST}`)
  if (declaration !== null) await service.platform.post('/v1/openslaspecs', { api, specification: declaration })
  const { apiKey } = await enrol(service, api, { name: api })
  return { name: api, api, apiKey }
}

interface Run {
  readonly cluster: ChaosCluster
  readonly load: ChaosLoad
  readonly commands: ChaosCommands
  readonly random: Random
}

/** Runs faults and commands beside each other until the time is up; returns the faults. */
async function disturb({ cluster, load, commands, random }: Run): Promise<readonly string[]> {
  const endsMs = Date.now() + SECONDS * 1_000
  const faults: string[] = []
  async function breakThings(): Promise<void> {
    while (Date.now() < endsMs) {
      faults.push(await runFault({ cluster, load, random }, FAULTS))
      await load.after(BETWEEN_FAULTS)
    }
  }
  async function command(): Promise<void> {
    while (Date.now() < endsMs) {
      await commands.run()
      await load.after(random.below(BETWEEN_FAULTS))
    }
  }
  await Promise.all([breakThings(), command()])
  return faults
}

/** Shows the first of many violations, and prints them now: a run of many files that is interrupted shows no failures. */
function expectNone(violations: readonly string[]): void {
  if (violations.length > 0) console.log(`seed ${SEED}: ${violations.slice(0, 5).join('; ')}`)
  expect.soft({ number: violations.length, first: violations.slice(0, 5) }).toEqual({ number: 0, first: [] })
}

async function billed({ platform }: Service, api: string): Promise<number> {
  const { items } = await platform.get<{ items: readonly { calls: number }[] }>(`/v1/summaries?api=${api}`)
  return items.reduce((sum, { calls }) => sum + calls, 0)
}

it(`keeps all promises for ${SECONDS} s, seed ${SEED}`, { timeout: SECONDS * 2_000 + 10 * MINUTE }, async () => {
  const random = createRandom(SEED)
  const backend = await startChaosBackend(random)
  const cluster = await startChaosCluster(['a', 'b', 'c'])
  try {
    const { service } = cluster.nodes[0]!
    const totals = await open(service, backend, 'totals-v1', limitOf({ totals: { minute: TOTAL } }))
    const rate = await open(service, backend, 'rate-v1', limitOf({ rate: { value: RATE.value, duration: 'minute' } }))
    const slots = await open(service, backend, 'slots-v1', limitOf({ concurrent: SLOTS }))
    const quotas = { period: 'Annual', resourceUnits: QUOTA / 2 }
    const units = await open(service, backend, 'units-v1', declarationOf({ quotas, resourceUnits: { default: 0.5 } }))
    const free = await open(service, backend, 'free-v1', null)
    const load = startChaosLoad(cluster.nodes, backend, random)
    const parts = { cluster, load, backend, random }
    const commands = createChaosCommands({
      ...parts,
      totals: { api: totals.api, value: TOTAL },
      free: { api: free.api, answer: FIRST },
    })
    for (const [caller, workers] of [
      [totals, 1],
      [rate, 1],
      [slots, 3],
      [units, 1],
      [free, 1],
    ] as const)
      load.start(caller, workers)
    const faults = await disturb({ ...parts, commands })
    await load.after(BETWEEN_FAULTS)
    await load.stop()
    console.log(JSON.stringify({ seed: SEED, faults, statuses: Object.fromEntries([...load.statuses].toSorted()) }))

    expectNone(backend.repeated.map((n) => `call ${n} came twice`))
    expectNone(checkTotal(load.historyOf(totals.name), commands.declared, MINUTE))
    expectNone(checkRate(load.historyOf(rate.name), RATE.value, RATE.spanMs))
    expectNone(checkConcurrent(load.historyOf(slots.name), SLOTS))
    expect
      .soft(load.historyOf(units.name).filter(({ arrivedMs }) => arrivedMs !== null).length)
      .toBeLessThanOrEqual(QUOTA)
    expectNone(checkActivations(load.historyOf(free.name), commands.activations))
    expectNone(commands.revocations.check())
    const bills: string[] = []
    for (const { api, name } of [totals, rate, slots, units]) {
      const whole = load.statuses.get(`${name} 200`) ?? 0
      const most = load.historyOf(name).filter(({ arrivedMs }) => arrivedMs !== null).length
      for (const node of cluster.nodes) {
        await expect.poll(() => billed(node.service, api), BILL).toBeGreaterThanOrEqual(whole)
        expect(await billed(node.service, api)).toBeLessThanOrEqual(most)
      }
      bills.push(`${name}: ${await billed(cluster.nodes[0]!.service, api)} of ${whole} to ${most}`)
    }
    console.log(
      `N2  ${faults.length} faults, ${SECONDS} s; calls billed of those seen whole to those admitted: ${bills.join(', ')}`,
    )
  } finally {
    await cluster.remove()
    await backend.close()
  }
})

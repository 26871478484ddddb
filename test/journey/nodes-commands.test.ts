/**
 * Commands over three nodes under load: an activation fails no call, and no node serves the old revision after the answer; a credential
 * that is revoked is not served after the answer, while nodes are killed, their clocks jump, and PostgreSQL is cut off.
 *
 * `ACTIVATIONS` and `REVOCATIONS` set how many; `npm run nodes` makes it 200 and 1,000.
 */

// @module-tag postgres
// @module-tag redis-server

import { afterAll, beforeAll, expect, it } from 'vitest'
import { createRandom } from '../random.ts'
import { readSeed } from '../random-seed.ts'
import { checkActivations, type Activation } from '../simulation/history-checker.ts'
import { startChaosBackend, type ChaosBackend } from './chaos/chaos-backend.ts'
import { startChaosCluster, type ChaosCluster } from './chaos/chaos-cluster.ts'
import { documentOf } from './chaos/chaos-commands.ts'
import { FAULTS_OF_COMMANDS, runFault } from './chaos/chaos-faults.ts'
import { startChaosLoad } from './chaos/chaos-load.ts'
import { createChaosRevocations } from './chaos/chaos-revocations.ts'
import { enrol, publish, type Service } from './service.ts'
import { pendingAfter } from './several-nodes.ts'

const ACTIVATIONS = Number(process.env['ACTIVATIONS'] ?? 6)
const REVOCATIONS = Number(process.env['REVOCATIONS'] ?? 4)
const SEED = readSeed(1)
const API = 'free-v1'
const MINUTE = 60_000
const AT_ONCE = 4
const BETWEEN_FAULTS = 200
const random = createRandom(SEED)
let cluster: ChaosCluster
let backend: ChaosBackend
let proxy: string

beforeAll(async () => {
  backend = await startChaosBackend(random)
  cluster = await startChaosCluster(['a', 'b', 'c'])
  proxy = await publish(node(0), API, documentOf(API), `${backend.url}/revision-0`)
}, 2 * MINUTE)

afterAll(async () => {
  await cluster.remove()
  await backend.close()
})

/** In turn. */
function node(turn: number): Service {
  return cluster.nodes[turn % cluster.nodes.length]!.service
}

it(
  `${ACTIVATIONS} activations over three nodes fail no call, and none is answered by the old revision after the answer`,
  { timeout: 2 * MINUTE + ACTIVATIONS * 10_000 },
  async () => {
    const { apiKey } = await enrol(node(0), API, { name: 'Load' })
    const load = startChaosLoad(cluster.nodes, backend, random)
    load.start({ name: 'load', api: API, apiKey }, 3)
    const activations: Activation[] = [{ answer: 'revision-0', answeredMs: 0 }]
    const tookMs: number[] = []
    for (let turn = 1; turn <= ACTIVATIONS; turn++) {
      const answer = `revision-${turn}`
      const specification = Buffer.from(JSON.stringify(documentOf(API))).toString('base64')
      await node(turn).platform.post('/v1/proxies', {
        ...{ api: API, specification, backend: { url: `${backend.url}/${answer}` } },
      })
      const startMs = performance.now()
      expect(await pendingAfter(node(turn + 1), `/v1/proxies/${proxy}/activate`)).toBe('')
      tookMs.push(performance.now() - startMs)
      activations.push({ answer, answeredMs: Date.now() })
      await load.after(9)
    }
    await load.stop()
    expect([...load.statuses.keys()]).toEqual(['load 200'])
    expect(checkActivations(load.historyOf('load'), activations)).toEqual([])
    tookMs.sort((a, b) => a - b)
    const [median, max] = [tookMs[tookMs.length >> 1], tookMs.at(-1)].map((ms) => ms?.toFixed(0))
    console.log(
      `N4  ${ACTIVATIONS} activations, ${load.statuses.get('load 200')} calls: 0 failed, 0 of an old revision; command ${median} ms, at most ${max} ms`,
    )
  },
)

it(
  `${REVOCATIONS} revocations at random nodes take effect everywhere with the answer, seed ${SEED}`,
  { timeout: 4 * MINUTE + REVOCATIONS * 10_000 },
  async () => {
    const load = startChaosLoad(cluster.nodes, backend, random)
    const { apiKey } = await enrol(node(0), API, { name: 'Background' })
    load.start({ name: 'background', api: API, apiKey }, 1)
    const revocations = createChaosRevocations({ cluster, load, random, api: API })
    const isOver = (): boolean => revocations.answered.length >= REVOCATIONS
    const faults: string[] = []
    async function breakThings(): Promise<void> {
      while (!isOver()) {
        faults.push(await runFault({ cluster, load, random }, FAULTS_OF_COMMANDS))
        await load.after(BETWEEN_FAULTS)
      }
    }
    async function revoke(): Promise<void> {
      while (!isOver()) {
        await revocations.run()
        await load.after(1)
      }
    }
    await Promise.all([breakThings(), ...Array.from({ length: AT_ONCE }, revoke)])
    await load.stop()
    expect(revocations.check()).toEqual([])
    console.log(
      `N3  ${revocations.answered.length} revocations, ${faults.length} faults: 0 calls served after an answer that names no node`,
    )
  },
)

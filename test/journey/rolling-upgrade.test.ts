/**
 * Three nodes behind HAProxy, two of this version and one of a later one, and the upgrade of the others.
 *
 * The later version is a copy of the sources with a further format, step of the schema, and form of signals (`later-version.ts`).
 */

// @module-tag haproxy
// @module-tag postgres
// @module-tag redis-server

import { createServer, type Server } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freeHaproxyPorts, startHaproxy, type Haproxy } from '../fixtures/haproxy.ts'
import { ownUrl } from '../fixtures/own-address.ts'
import { executeSql } from '../fixtures/test-postgres.ts'
import { FORMAT } from '../../src/storage/store/nodes.ts'
import { LATER_FORMAT, LATER_VERSION, makeLaterVersion, type Installation, type LaterVersion } from './later-version.ts'
import { declareLimit, HOUR, LimitedCaller, windowsSince } from './limited-calls.ts'
import { createService, enrol, publish, type Enrolled, type Service } from './service.ts'
import { callOne, pendingAfter, startSeveralNodes, type SeveralNodes } from './several-nodes.ts'
import { more, startTraffic, WITHIN } from './steady-clients.ts'
import { document, listen } from './things-api.ts'

const API = 'things-v1'
const PATH = `/${API}/things`
const LIMITED = 'limited-v1'
const MINUTE = 60_000
/** For what a slow machine may take long for. */
const WAIT = { timeout: 30_000, interval: 50 }

interface Node extends Service {
  readonly installation: Installation
}

let backend: Server
let backendUrl: string
let later: LaterVersion
let several: SeveralNodes
let haproxy: Haproxy
let nodes: readonly [Node, Node, Node]
let proxy: string

beforeAll(async () => {
  backend = createServer((incoming, response) => incoming.resume().on('end', () => response.end('{}')))
  backendUrl = await listen(backend)
  later = makeLaterVersion()
  const ports = await freeHaproxyPorts()
  several = await startSeveralNodes([], {
    GATEWAY_THREADS: '1',
    STOP_DELAY_SECONDS: '6',
    TRUSTED_PROXIES: '127.0.0.1',
    GATEWAY_URL: ownUrl(ports[0]),
    BASE_URL: ownUrl(ports[1]),
  })
  nodes = [await createNode('a'), await createNode('b'), await createNode('c')]
  await Promise.all([nodes[0].start(), nodes[1].start()])
  proxy = await publish(nodes[0], API, document('Things'), backendUrl)
  await publish(nodes[0], LIMITED, document('Limited'), backendUrl)
  haproxy = await startHaproxy(ports, nodes.map(portsOf))
}, 2 * MINUTE)

afterAll(async () => {
  await haproxy.stop()
  await Promise.all(nodes.map((node) => node.remove()))
  await several.remove()
  later.remove()
  backend.closeAllConnections()
  backend.close()
})

async function createNode(name: string): Promise<Node> {
  const installation = later.installation()
  const env = { ...several.settings, NODE_NAME: name }
  return { ...(await createService({ main: installation.main, args: ['--empty'], env })), installation }
}

const portsOf = ({ gatewayUrl, baseUrl }: Service) => ({
  gateway: Number(new URL(gatewayUrl).port),
  platform: Number(new URL(baseUrl).port),
})

const callAll = (apiKey: string) => Promise.all(nodes.map((node) => callOne(node, PATH, apiKey)))

async function sharedFormat(): Promise<unknown> {
  const { rows } = await executeSql(several.settings['DATABASE_URL']!, 'SELECT format::int FROM shared_format')
  return rows[0]?.['format']
}

async function versions({ platform }: Service): Promise<readonly string[]> {
  const { items } = await platform.get<{ items: readonly { version: string }[] }>('/v1/nodes')
  return items.map(({ version }) => (version === LATER_VERSION ? 'later' : 'this'))
}

async function countOf({ baseUrl }: Service, reason: string): Promise<number> {
  const text = await (await fetch(`${baseUrl}/metrics`)).text()
  return Number(new RegExp(`^tollgate_events_total\\{reason="${reason}"\\} (\\S+)$`, 'm').exec(text)?.[1] ?? 0)
}

async function risksOf({ platform }: Service, { consumer }: Enrolled): Promise<readonly { severity: string }[]> {
  return (await platform.get<{ items: { severity: string }[] }>(`/v1/risks?attributedTo=${consumer}`)).items
}

/** Opens an episode by refused calls at all nodes, and waits until every node lists it. */
async function refuseEverywhere(name: string): Promise<void> {
  const caller = await enrol(nodes[2], API, { name })
  expect(await pendingAfter(nodes[2], `/v1/subscriptions/${caller.subscription}/suspend`)).toBe('')
  for (let round = 0; round < 4; round++) expect(await callAll(caller.apiKey)).toEqual([403, 403, 403])
  for (const node of nodes) {
    await expect.poll(() => risksOf(node, caller), WAIT).toMatchObject([{ severity: 'Critical', count: 12 }])
  }
  for (const node of nodes) expect(await countOf(node, 'risk_signal_unreadable')).toBe(0)
}

describe('a node of a later version beside two of this one', () => {
  it('extends the schema, and writes what the others read', async () => {
    nodes[2].installation.install('later')
    await nodes[2].start()
    expect(await versions(nodes[0])).toEqual(['this', 'this', 'later'])
    const { rows } = await executeSql(several.settings['DATABASE_URL']!, 'SELECT later FROM node')
    expect(rows).toHaveLength(3)
    expect(await sharedFormat()).toBe(FORMAT)
    await refuseEverywhere('Risky')
    expect(await sharedFormat()).toBe(FORMAT)
  })

  it('executes commands for the others, and they for it', async () => {
    for (const [at, other] of [
      [nodes[2], nodes[0]],
      [nodes[1], nodes[2]],
    ] as const) {
      const { subscription, apiKey } = await enrol(at, API, { name: 'Both' })
      expect(await callAll(apiKey)).toEqual([200, 200, 200])
      expect(await pendingAfter(other, `/v1/subscriptions/${subscription}/suspend`)).toBe('')
      expect(await callAll(apiKey)).toEqual([403, 403, 403])
      const specification = Buffer.from(JSON.stringify(document('Things'))).toString('base64')
      await at.platform.post('/v1/proxies', { api: API, specification, backend: { url: backendUrl } })
      expect(await pendingAfter(other, `/v1/proxies/${proxy}/activate`)).toBe('')
      expect(await pendingAfter(at, `/v1/subscriptions/${subscription}/resume`)).toBe('')
      expect(await callAll(apiKey)).toEqual([200, 200, 200])
    }
  })

  it('admits a total together with them', async () => {
    await declareLimit(nodes[2], { totals: { hour: 60 } }, LIMITED)
    const caller = await LimitedCaller.enrol(nodes[1], 'Hourly', LIMITED, `/${LIMITED}/things`)
    const fromMs = Date.now()
    const burst = async () => (await caller.burst(nodes, 10), caller.admitted)
    await expect.poll(burst, WAIT).toBeGreaterThanOrEqual(60)
    expect(await caller.burst(nodes, 30)).toEqual([429])
    expect(caller.admitted).toBeLessThanOrEqual(60 * windowsSince(fromMs, HOUR))
  })
})

describe('an upgrade of one node after the other', () => {
  it('loses no call behind the balancer, and lets all write the later format', { timeout: 3 * MINUTE }, async () => {
    const { apiKey } = await enrol(nodes[0], API, { name: 'Load' })
    const traffic = startTraffic({ gatewayUrl: haproxy.gatewayUrl, apiKey, methods: ['GET', 'POST'], clients: 3 })
    await expect.poll(() => traffic.starts.size, WITHIN).toBe(3)
    for (const [index, node] of nodes.entries()) {
      expect(await sharedFormat()).toBe(index < 2 ? FORMAT : LATER_FORMAT)
      expect(await node.stop()).toBe(0)
      await more(traffic, 100)
      node.installation.install('later')
      await node.start()
      await expect.poll(() => traffic.starts.size, WITHIN).toBe(4 + index)
      if (index === 1) await expect.poll(sharedFormat, WAIT).toBe(LATER_FORMAT)
    }
    await traffic.stop()
    expect(traffic.failures).toEqual([])
    expect(await versions(nodes[2])).toEqual(['later', 'later', 'later'])
    await refuseEverywhere('Later')
  })

  it('is final: a node of the earlier version is refused with one line', async () => {
    await nodes[0].stop()
    nodes[0].installation.install('this')
    await expect(nodes[0].start()).rejects.toThrow(
      `DATABASE_URL was written by a later version of tollgate (format ${LATER_FORMAT}; this version reads up to ${FORMAT}); start that version`,
    )
  })
})

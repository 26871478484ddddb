/**
 * Several nodes on one registry, whose clocks differ: a change that was answered holds on every node, a dead node delays and does not
 * stop the others, and calls are served without PostgreSQL.
 */

// @module-tag postgres
// @module-tag redis-server

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, usedTypes, type Service } from './service.ts'
import {
  callOne,
  pendingAfter,
  serveAfter,
  servingNodes,
  startSeveralNodes,
  type SeveralNodes,
} from './several-nodes.ts'

const PATH = '/ledger-v1/entries?n=1'
const MINUTE = 60_000
const ROUNDS = 20
let several: SeveralNodes
let backends: readonly [LedgerBackend, LedgerBackend]
let proxy: string

beforeAll(async () => {
  backends = await Promise.all([startLedgerBackend('first'), startLedgerBackend('second')])
  several = await startSeveralNodes(['a', 'b', 'c'], {}, { clocksMs: [2_000, -2_000, 0] })
  proxy = await publish(node(0), 'ledger-v1', ledgerDocument(), backends[0].url)
}, 2 * MINUTE)

afterAll(async () => {
  await several.remove()
  await Promise.all(backends.map((backend) => backend.close()))
})

/** In turn. */
function node(turn: number): Service {
  return several.nodes[turn % several.nodes.length]!
}

async function stage(at: Service, backend: LedgerBackend): Promise<void> {
  const specification = Buffer.from(JSON.stringify(ledgerDocument())).toString('base64')
  await at.platform.post('/v1/proxies', { api: 'ledger-v1', specification, backend: { url: backend.url } })
}

async function answerOf({ gatewayUrl }: Service, apiKey: string): Promise<string> {
  const response = await fetch(gatewayUrl + PATH, { headers: { 'x-api-key': apiKey } })
  const { answer = `status ${response.status}` } = (await response.json()) as { answer?: string }
  return answer
}

async function listedAt({ platform }: Service): Promise<readonly string[]> {
  interface Listed {
    readonly name: string
    readonly isLive: boolean
    readonly isSelf: boolean
  }
  const { items } = await platform.get<{ items: readonly Listed[] }>('/v1/nodes')
  return items.map(({ name, isLive, isSelf }) => `${name} ${isLive ? 'live' : 'silent'}${isSelf ? ' self' : ''}`)
}

async function metricOf({ baseUrl }: Service, name: string): Promise<number> {
  const text = await (await fetch(`${baseUrl}/metrics`)).text()
  return Number(new RegExp(`^tollgate_${name} (\\S+)$`, 'm').exec(text)?.[1])
}

/** Number of calls whose usage is in ClickHouse. */
async function storedCalls(subscription: string): Promise<number> {
  const query = `SELECT sum(calls) FROM line_items WHERE subscription = '${subscription}'`
  return Number(await (await fetch(several.clickHouse.url, { method: 'POST', body: query })).text())
}

describe('three nodes that started at the same time', () => {
  it('have one admin and one set of signing keys', async () => {
    const keys = await Promise.all(
      several.nodes.map(
        async ({ platform }) => (await platform.get<{ items: { id: string }[] }>('/v1/signingkeys')).items,
      ),
    )
    expect(keys[0]).toHaveLength(4)
    for (const each of keys) expect(each).toEqual(keys[0])
    const token = await node(0).platform.token()
    for (const { baseUrl } of several.nodes) {
      const { status } = await fetch(`${baseUrl}/v1/proxies`, { headers: { authorization: `Bearer ${token}` } })
      expect(status).toBe(200)
    }
  })

  it('serve a new subscription, and refuse it once it is suspended', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { subscription, apiKey } = await enrol(node(round), 'ledger-v1', { name: `Round ${round}` })
      expect(await several.callAll(PATH, apiKey)).toEqual([200, 200, 200])
      expect(await pendingAfter(node(round + 1), `/v1/subscriptions/${subscription}/suspend`)).toBe('')
      expect(await several.callAll(PATH, apiKey)).toEqual([403, 403, 403])
      expect(await pendingAfter(node(round + 2), `/v1/subscriptions/${subscription}/resume`)).toBe('')
      expect(await several.callAll(PATH, apiKey)).toEqual([200, 200, 200])
    }
  })

  it('show a credential as used that was used at another node, once that has stopped', async () => {
    const { subscription, apiKey } = await enrol(node(0), 'ledger-v1', { name: 'Used' })
    expect(await usedTypes(node(1), subscription)).toEqual([])
    expect(await callOne(node(0), PATH, apiKey)).toBe(200)
    await expect.poll(() => usedTypes(node(0), subscription)).toEqual(['ApiKey'])
    expect(await node(0).stop()).toBe(0)
    expect(await usedTypes(node(1), subscription)).toEqual(['ApiKey'])
    await node(0).start()
    expect(await usedTypes(node(0), subscription)).toEqual(['ApiKey'])
  })

  it('refuse a token once it is revoked at another node', async () => {
    for (let round = 0; round < several.nodes.length; round++) {
      const { clientId, clientSecret, token } = await enrol(node(round), 'ledger-v1', { name: `Tokens ${round}` })
      const bearer = await token()
      const call = ({ gatewayUrl }: Service) =>
        fetch(gatewayUrl + PATH, { headers: { authorization: `Bearer ${bearer}` } }).then(({ status }) => status)
      expect(await Promise.all(several.nodes.map(call))).toEqual([200, 200, 200])
      const body = new URLSearchParams({ token: bearer, client_id: clientId, client_secret: clientSecret })
      const { gatewayUrl } = node(round + 1)
      const { status } = await fetch(`${gatewayUrl}/ledger-v1/oauth2/v2/revoke`, { method: 'POST', body })
      expect(status).toBe(200)
      expect(await Promise.all(several.nodes.map(call))).toEqual([401, 401, 401])
    }
  })

  it('serve a revision everywhere once its activation is answered, without a failed call', async () => {
    const { apiKey } = await enrol(node(0), 'ledger-v1', { name: 'Load' })
    let isOver = false
    const seen = new Set<string>()
    const load = several.nodes.map(async (each) => {
      while (!isOver) seen.add(await answerOf(each, apiKey))
    })
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const backend = backends[(round + 1) % 2]!
        await stage(node(round), backend)
        expect(await pendingAfter(node(round + 1), `/v1/proxies/${proxy}/activate`)).toBe('')
        const expected = backend === backends[0] ? 'first' : 'second'
        for (const each of several.nodes) expect(await answerOf(each, apiKey)).toBe(expected)
      }
    } finally {
      isOver = true
      await Promise.all(load)
    }
    expect([...seen].sort()).toEqual(['first', 'second'])
  })

  it('answer a repeated request from the answer of another node', async () => {
    const create = async ({ baseUrl, platform }: Service) => {
      const response = await fetch(`${baseUrl}/v1/consumers`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${await platform.token()}`,
          'content-type': 'application/json',
          'idempotency-key': 'once',
        },
        body: JSON.stringify({ name: 'Once', kind: 'application' }),
      })
      return { replayed: response.headers.get('idempotency-replayed'), ...((await response.json()) as { id: string }) }
    }
    // The credential of the key is that of the token: one token for all nodes.
    const first = await create(node(0))
    const second = await create({ ...node(1), platform: node(0).platform })
    expect(second).toEqual({ ...first, replayed: 'true' })
  })
})

describe('a node that was killed', () => {
  it('is named as pending, and serves the current state after its restart', async () => {
    const { subscription, apiKey } = await enrol(node(0), 'ledger-v1', { name: 'Killed' })
    await node(2).kill()
    expect(await pendingAfter(node(0), `/v1/subscriptions/${subscription}/suspend`)).toBe('c')
    expect(await callOne(node(1), PATH, apiKey)).toBe(403)
    await node(2).start()
    expect(await callOne(node(2), PATH, apiKey)).toBe(403)
    expect(await pendingAfter(node(0), `/v1/subscriptions/${subscription}/resume`)).toBe('')
    expect(await callOne(node(2), PATH, apiKey)).toBe(200)
  })

  it('is shown as silent by every node, and can be removed; a live one cannot', async () => {
    expect(await listedAt(node(0))).toEqual(['a live self', 'b live', 'c live'])
    await node(2).kill()
    await expect.poll(() => listedAt(node(0)), { timeout: 20_000 }).toEqual(['a live self', 'b live', 'c silent'])
    expect(await listedAt(node(1))).toEqual(['a live', 'b live self', 'c silent'])
    await expect.poll(() => metricOf(node(0), 'nodes_silent'), { timeout: 20_000 }).toBe(1)
    await expect(node(0).platform.delete('/v1/nodes/b')).rejects.toThrow(/answered 409/)
    await node(0).platform.delete('/v1/nodes/c')
    expect(await listedAt(node(1))).toEqual(['a live', 'b live self'])
    await expect(node(1).platform.delete('/v1/nodes/c')).rejects.toThrow(/answered 404/)
    const { items } = await node(1).platform.get<{ items: object[] }>('/v1/audit?kind=node')
    expect(items).toMatchObject([{ action: 'node.remove', id: 'c' }])
    await expect.poll(() => metricOf(node(0), 'nodes_silent'), { timeout: 20_000 }).toBe(0)
    const { subscription } = await enrol(node(0), 'ledger-v1', { name: 'Removed' })
    expect(await pendingAfter(node(0), `/v1/subscriptions/${subscription}/suspend`)).toBe('')
    await node(2).start()
    expect(await listedAt(node(2))).toEqual(['a live', 'b live', 'c live self'])
    await expect.poll(() => metricOf(node(2), 'node_lag'), { timeout: 20_000 }).toBe(0)
  })

  it('is refused with a copied identity and with the name of another node', async () => {
    const env = { ...several.settings, NODE_NAME: 'a' }
    const other = await createService({ args: ['--empty'], env })
    await expect(other.start()).rejects.toThrow(/another node is named a; set NODE_NAME/)
    await other.remove()
  })
})

describe('without PostgreSQL', () => {
  it('calls are served and stored, and commands answer 503; afterwards everything works again', async () => {
    const { subscription, apiKey } = await enrol(node(0), 'ledger-v1', { name: 'Outage' })
    expect(await several.callAll(PATH, apiKey)).toEqual([200, 200, 200])
    await several.postgres.stop()
    expect(await several.callAll(PATH, apiKey)).toEqual([200, 200, 200])
    await expect(node(0).platform.post(`/v1/subscriptions/${subscription}/suspend`)).rejects.toThrow(/answered 503/)
    expect(await several.callAll(PATH, apiKey)).toEqual([200, 200, 200])
    await expect.poll(() => storedCalls(subscription), { timeout: MINUTE }).toBe(9)
    await several.postgres.start()
    const serving = () => servingNodes(node(0)).catch(() => [])
    await expect.poll(serving, { timeout: MINUTE }).toEqual(['a', 'b', 'c'])
    await serveAfter(node(0), `/v1/subscriptions/${subscription}/suspend`, ['a', 'b', 'c'])
    expect(await several.callAll(PATH, apiKey)).toEqual([403, 403, 403])
  })
})

/** Work that several nodes share: each call is billed once, each event is sent, and each caller has one revision, on every node. */

// @module-tag postgres
// @module-tag redis-server

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { enrol, publish, type Service } from './service.ts'
import { callOne, serveAfter, startSeveralNodes, type SeveralNodes } from './several-nodes.ts'

const PATH = '/ledger-v1/entries?n=1'
const MINUTE = 60_000
const WAIT = { timeout: MINUTE, interval: 100 }
const CALLS = 40
const NAMES = ['a', 'b', 'c']
let several: SeveralNodes
let backend: LedgerBackend
let receiver: Server
/** Messages by their ids: how often each one came. */
const received = new Map<string, { readonly credential: string; times: number }>()

beforeAll(async () => {
  backend = await startLedgerBackend()
  receiver = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk: Buffer) => (text += chunk.toString()))
    request.on('end', () => {
      const id = String(request.headers['webhook-id'])
      const { data } = JSON.parse(text) as { data: { credential: string } }
      const times = (received.get(id)?.times ?? 0) + 1
      received.set(id, { credential: data.credential, times })
      response.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  several = await startSeveralNodes(NAMES, { ALLOW_PRIVATE_ADDRESSES: 'webhooks' })
  await publish(node(0), 'ledger-v1', ledgerDocument(), backend.url)
}, 2 * MINUTE)

afterAll(async () => {
  await several.remove()
  await backend.close()
  receiver.closeAllConnections()
  receiver.close()
})

function node(turn: number): Service {
  return several.nodes[turn % several.nodes.length]!
}

async function billedAt({ platform }: Service): Promise<number> {
  const { items } = await platform.get<{ items: readonly { calls: number }[] }>('/v1/summaries?api=ledger-v1')
  return items.reduce((sum, { calls }) => sum + calls, 0)
}

describe('the bill of three nodes', () => {
  it('has each call once, on every node, also if one is killed and comes back', { timeout: 3 * MINUTE }, async () => {
    const { apiKey } = await enrol(node(0), 'ledger-v1')
    let calls = 0
    const callEach = async (nodes: readonly Service[]): Promise<void> => {
      for (let call = 0; call < CALLS; call++)
        for (const each of nodes) expect(await callOne(each, PATH, apiKey)).toBe(200)
      calls += CALLS * nodes.length
    }
    await callEach(several.nodes)
    for (const each of several.nodes) await expect.poll(() => billedAt(each), WAIT).toBe(calls)
    for (let turn = 0; turn < several.nodes.length; turn++) {
      await callEach(several.nodes)
      await node(turn).kill()
      await callEach(several.nodes.filter((each) => each !== node(turn)))
      await node(turn).start()
    }
    for (const each of several.nodes) await expect.poll(() => billedAt(each), WAIT).toBe(calls)
    for (const each of several.nodes) {
      await each.stop()
      await each.start()
    }
    for (const each of several.nodes) expect(await billedAt(each)).toBe(calls)
  })
})

describe('the webhooks of three nodes', () => {
  it('are sent by one node, and by another one after it was killed', { timeout: 3 * MINUTE }, async () => {
    const { consumer } = await enrol(node(0), 'ledger-v1', { name: 'Revoked' })
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/events`
    await node(0).platform.post('/v1/eventsubscriptions', { url, events: ['CredentialRevoked'] })
    const revoked: string[] = []
    const revoke = async ({ platform }: Service): Promise<void> => {
      const { id } = await platform.post<{ id: string }>('/v1/subscriptions', { consumer, api: 'ledger-v1' })
      const path = `/v1/subscriptions/${id}/credentials`
      const { items } = await platform.get<{ items: readonly { id: string }[] }>(path)
      for (const credential of items) {
        await platform.delete(`${path}/${credential.id}`)
        revoked.push(credential.id)
      }
    }
    const told = () => [...new Set([...received.values()].map(({ credential }) => credential))].sort()
    for (let turn = 0; turn < 20; turn++) await revoke(node(turn))
    await expect.poll(told, WAIT).toEqual([...revoked].sort())
    // No node failed yet: each message came once.
    expect([...received.values()].filter(({ times }) => times > 1)).toEqual([])
    for (let turn = 0; turn < several.nodes.length; turn++) {
      await revoke(node(turn))
      await node(turn).kill()
      await revoke(node(turn + 1))
      await expect.poll(told, WAIT).toEqual([...revoked].sort())
      await node(turn).start()
    }
    // At least once, with one id for each event.
    expect(received.size).toBe(revoked.length)
  })
})

describe('a canary of three nodes', () => {
  it('serves the same callers on every node, until it is promoted or discarded', async () => {
    const next = await startLedgerBackend('next')
    const document = { ...ledgerDocument(), info: { title: 'Canary', version: '1.0.0' } }
    const specification = Buffer.from(JSON.stringify(document)).toString('base64')
    const path = `/v1/proxies/${await publish(node(0), 'canary-v1', document, backend.url)}`
    const callers = await Promise.all(Array.from({ length: 8 }, () => enrol(node(0), 'canary-v1')))
    const stage = (turn: number, url: string) =>
      node(turn).platform.post('/v1/proxies', { api: 'canary-v1', specification, backend: { url } })
    const answerAt = async ({ gatewayUrl }: Service, { apiKey }: { readonly apiKey: string }): Promise<string> => {
      const response = await fetch(`${gatewayUrl}/canary-v1/entries?n=c`, { headers: { 'x-api-key': apiKey } })
      expect(response.status).toBe(200)
      return ((await response.json()) as { answer: string }).answer
    }
    /** Whether the canary's backend serves each of the callers, the same on every node. */
    const served = async (): Promise<readonly boolean[]> => {
      const byNode: (readonly boolean[])[] = []
      for (const each of several.nodes) {
        const answers = await Promise.all(callers.map((caller) => answerAt(each, caller)))
        byNode.push(answers.map((answer) => answer === 'next'))
      }
      for (const of of byNode) expect(of).toEqual(byNode[0])
      return byNode[0]!
    }
    const change = (turn: number, command: string, body?: object) =>
      serveAfter(node(turn), `${path}/${command}`, NAMES, body)
    try {
      await stage(0, next.url)
      await change(0, 'activate', { percent: 40 })
      const few = await served()
      await change(1, 'activate', { percent: 80 })
      const more = await served()
      expect(few.filter((isServed, index) => isServed && !more[index])).toEqual([])
      const consumers = callers.slice(0, 3).map(({ consumer }) => consumer)
      await change(2, 'activate', { consumers })
      expect(await served()).toEqual(callers.map((_, index) => index < 3))
      await change(1, 'discard')
      expect(new Set(await served())).toEqual(new Set([false]))
      await stage(2, next.url)
      await change(2, 'activate', { percent: 40 })
      // Which callers are chosen does not depend on the revision, nor on the node that began the canary.
      expect(await served()).toEqual(few)
      await change(0, 'activate')
      expect(new Set(await served())).toEqual(new Set([true]))
    } finally {
      await next.close()
    }
  })
})

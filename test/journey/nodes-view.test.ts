/** Every node shows what concerns all of them: calls as they happen, failing backends, and nodes with other settings. */

// @module-tag postgres
// @module-tag redis-server

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { ownPort, ownUrl } from '../fixtures/own-address.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Service } from './service.ts'
import { callOne, startSeveralNodes, type SeveralNodes } from './several-nodes.ts'

const PATH = '/ledger-v1/entries?n=1'
const MINUTE = 60_000
const WAIT = { timeout: 30_000, interval: 100 }
let several: SeveralNodes
let backend: LedgerBackend

beforeAll(async () => {
  backend = await startLedgerBackend()
  several = await startSeveralNodes(['a', 'b'])
  await publish(node(0), 'ledger-v1', ledgerDocument(), backend.url)
}, 2 * MINUTE)

afterAll(async () => {
  await several?.remove()
  await backend?.close()
})

function node(turn: number): Service {
  return several.nodes[turn]!
}

interface Stream {
  /** All received text. */
  readonly text: () => string
}

async function openStream({ baseUrl, platform }: Service, lastEventId = ''): Promise<Stream> {
  const controller = new AbortController()
  onTestFinished(() => controller.abort())
  const headers = { accept: 'text/event-stream', 'last-event-id': lastEventId }
  const response = await fetch(`${baseUrl}/v1/requests`, {
    headers: { ...headers, authorization: `Bearer ${await platform.token()}` },
    signal: controller.signal,
  })
  expect(response.status).toBe(200)
  let text = ''
  const read = async (): Promise<void> => {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += chunk
  }
  read().catch(() => {})
  return { text: () => text }
}

describe('a call', () => {
  it('is streamed and found at every node, and a stream resumes at another one', async () => {
    const { subscription, apiKey } = await enrol(node(0), 'ledger-v1', { name: 'Refused' })
    await node(0).platform.post(`/v1/subscriptions/${subscription}/suspend`)
    const streams = await Promise.all(several.nodes.map((each) => openStream(each)))
    const ids: string[] = []
    for (const { gatewayUrl } of several.nodes) {
      const response = await fetch(gatewayUrl + PATH, { headers: { 'x-api-key': apiKey } })
      expect(response.status).toBe(403)
      ids.push(response.headers.get('x-request-id')!)
    }
    const seen = (stream: Stream): readonly string[] =>
      ids.filter((id) => stream.text().includes(`"requestId":"${id}"`))
    for (const stream of streams) await expect.poll(() => seen(stream), WAIT).toEqual(ids)
    for (const { platform } of several.nodes)
      for (const requestId of ids) expect(await platform.get(`/v1/requests/${requestId}`)).toMatchObject({ requestId })

    const [, lastId = ''] = /^id: (\d+)$/m.exec(streams[0]!.text()) ?? []
    const resumed = await openStream(node(1), lastId)
    await expect.poll(() => seen(resumed), WAIT).toEqual(ids)
  })
})

describe('a backend that fails for one node', () => {
  it('needs attention at every node', async () => {
    await publish(node(0), 'ledger-v2', ledgerDocument('2.0.0'), ownUrl(await ownPort()))
    const { apiKey } = await enrol(node(0), 'ledger-v2', { name: 'Broken' })
    const failing = async ({ platform }: Service): Promise<readonly string[]> => {
      interface Matter {
        readonly kind: string
        readonly subjects: readonly { readonly id: string }[]
      }
      const { items } = await platform.get<{ items: readonly Matter[] }>('/v1/attention')
      return items.filter(({ kind }) => kind === 'backend').flatMap(({ subjects }) => subjects.map(({ id }) => id))
    }
    const failingAfterCall = async (): Promise<readonly string[]> => {
      await callOne(node(0), '/ledger-v2/entries?n=1', apiKey)
      return failing(node(1))
    }
    await expect.poll(failingAfterCall, WAIT).toEqual(['ledger-v2'])
    expect(await failing(node(0))).toEqual(['ledger-v2'])
  })
})

describe('a node with another address', () => {
  it('is refused, unless a change of addresses rolls; then every node shows it', async () => {
    const env = { ...several.settings, NODE_NAME: 'c', BASE_URL: 'http://other.example' }
    const refused = await createService({ args: ['--empty'], env })
    onTestFinished(() => refused.remove())
    await expect(refused.start()).rejects.toThrow(
      /tollgate: the live node [ab] has another BASE_URL and RISK_URL; set the/,
    )
    const rolling = await createService({ args: ['--empty'], env: { ...env, ADDRESSES_MAY_DIFFER: 'on' } })
    onTestFinished(() => rolling.remove())
    await rolling.start()
    for (const { platform } of [...several.nodes, rolling]) {
      const { items } = await platform.get<{ items: readonly { name: string; differs: string[] }[] }>('/v1/nodes')
      const differing = items.map(({ name, differs }) => [name, ...differs].join(' '))
      expect(differing).toEqual(['a', 'b', 'c BASE_URL RISK_URL'])
    }
  })
})

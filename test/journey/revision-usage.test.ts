/** A second revision is activated under calls: the bill and the service level of each revision are exact, also after a kill. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ledgerDocument } from './ledger-backend.ts'
import { createService, enrol, publish, type Enrolled, type Service } from './service.ts'

const CLIENTS = 6
/** Calls that are answered before the activation, and again after it. */
const CALLS = 300
/** One of so many calls fails at the backend of the second revision. */
const FAILS_EACH = 5

/** A call that is answered 5xx costs no units. */
const DECLARATION = {
  opensla: '1.0.0',
  info: { title: 'Ledger', version: '1.0.0' },
  resourceUnits: { default: 3 },
  price: { currency: 'EUR', perUnit: '0.5' },
}

interface Tally {
  calls: number
  failed: number
}

interface Levels {
  readonly revision: number
  readonly fate: string | null
  readonly calls: number
  readonly errors: number
  readonly unanswered: number
  readonly errorPercent: number
}

interface Sum {
  readonly revision: number
  readonly calls: number
  readonly value: number
  readonly amount: string
}

let service: Service
let backends: readonly Backend[]
let caller: Enrolled
let proxy: string

beforeAll(async () => {
  backends = await Promise.all([startBackend(0), startBackend(FAILS_EACH)])
  service = await createService({ args: ['--empty'], env: { REQUEST_LOG: 'all' } })
  await service.start()
  proxy = await publish(service, 'ledger-v1', ledgerDocument(), backends[0]!.url)
  const specification = Buffer.from(JSON.stringify(DECLARATION)).toString('base64')
  await service.platform.post('/v1/openslaspecs', { api: 'ledger-v1', specification })
  caller = await enrol(service, 'ledger-v1')
})

afterAll(async () => {
  await service.remove()
  await Promise.all(backends.map((backend) => backend.close()))
})

interface Backend {
  readonly url: string
  readonly tally: Tally
  close(): Promise<void>
}

async function startBackend(failsEach: number): Promise<Backend> {
  const tally: Tally = { calls: 0, failed: 0 }
  const server = createServer((request, response) => {
    request.resume()
    tally.calls++
    const isFailed = failsEach > 0 && tally.calls % failsEach === 0
    if (isFailed) tally.failed++
    response.writeHead(isFailed ? 500 : 200, { 'content-type': 'application/json' }).end('{}')
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tally,
    close: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Calls with several connections until each phase has had its calls; `change` runs between the two phases. */
async function callThrough(change: () => Promise<unknown>): Promise<void> {
  const agent = new Agent({ connections: CLIENTS, pipelining: 1 })
  const token = await caller.token()
  const phases = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let phase = 0
  let answered = 0
  async function client(): Promise<void> {
    while (phase < phases.length) {
      const { body } = await agent.request({
        origin: service.gatewayUrl,
        path: '/ledger-v1/entries',
        method: 'GET',
        headers: { authorization: `Bearer ${token}` },
      })
      await body.dump()
      if (++answered >= CALLS) phases[phase]?.resolve()
    }
  }
  const clients = Promise.all(Array.from({ length: CLIENTS }, client))
  await phases[0]!.promise
  await change()
  answered = 0
  phase = 1
  await phases[1]!.promise
  phase = 2
  await clients
  await agent.destroy()
}

const itemsAt = async <Item>(path: string): Promise<readonly Item[]> =>
  (await service.platform.get<{ items: readonly Item[] }>(path)).items

const billed = async (): Promise<number> =>
  (await itemsAt<Sum>('/v1/summaries?api=ledger-v1&groupBy=api')).reduce((sum, { calls }) => sum + calls, 0)

describe('the usage of two revisions', () => {
  it('is exact for each of them: calls, units, errors, logged calls, and their sum', async () => {
    await callThrough(async () => {
      await service.platform.post('/v1/proxies', {
        api: 'ledger-v1',
        specification: Buffer.from(JSON.stringify(ledgerDocument('1.1.0'))).toString('base64'),
        backend: { url: backends[1]!.url },
      })
      await service.platform.post(`/v1/proxies/${proxy}/activate`)
    })
    // What is not flushed yet is read again from the spool.
    await service.kill()
    await service.start()
    const [first, second] = backends.map(({ tally }) => tally) as [Tally, Tally]
    await expect.poll(billed, { timeout: 30_000 }).toBe(first.calls + second.calls)

    const { activeRevision } = await service.platform.get<{ activeRevision: number }>(`/v1/proxies/${proxy}`)
    const earlier = (await itemsAt<Levels>(`/v1/proxies/${proxy}/revisions`))
      .filter(({ fate }) => fate === 'superseded')
      .map(({ revision }) => revision)
    expect(earlier).toHaveLength(1)
    const of = (revision: number): Tally => (revision === activeRevision ? second : first)

    const sums = await itemsAt<Sum>('/v1/summaries?api=ledger-v1&groupBy=revision')
    expect(sums.map(({ revision }) => revision)).toEqual([...earlier, activeRevision])
    for (const { revision, calls, value, amount } of sums) {
      const units = 3 * (of(revision).calls - of(revision).failed)
      expect([calls, value, Number(amount)], String(revision)).toEqual([of(revision).calls, units, units * 0.5])
    }

    const levels = await itemsAt<Levels>(`/v1/proxies/${proxy}/levels`)
    expect(levels.map(({ revision, fate }) => [revision, fate])).toEqual([
      [activeRevision, 'active'],
      [earlier[0], 'superseded'],
    ])
    for (const { revision, calls, errors, unanswered, errorPercent } of levels) {
      const { calls: expected, failed } = of(revision)
      expect([calls, errors, unanswered]).toEqual([expected, failed, 0])
      expect(errorPercent).toBeCloseTo((failed / expected) * 100, 2)
    }

    for (const revision of [earlier[0]!, activeRevision]) {
      const items = await itemsAt<Sum>(`/v1?api=ledger-v1&revision=${revision}&limit=500`)
      expect(items.reduce((sum, { calls }) => sum + calls, 0)).toBe(of(revision).calls)
      const [logged] = await itemsAt<Sum>(`/v1/requests?api=ledger-v1&revision=${revision}&limit=1`)
      expect(logged).toMatchObject({ revision })
    }
    expect(await itemsAt('/v1/requests?api=ledger-v1&revision=99')).toEqual([])
  })
})

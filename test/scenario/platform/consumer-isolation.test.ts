/**
 * Three consumers of one tenant, with scopes of the own width: each sees and changes only what is its own.
 *
 * `SEEDS` random tenants, from `SEED` on. Every operation whose scope has both widths is called, with each way to read that it has.
 */

import { createConnection, type AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ownScope } from '../../../src/foundation/domain/scope-width.ts'
import { ALL_OPERATIONS } from '../../../src/interfaces/platform/operations.ts'
import { riskEvent } from '../../fixtures/risk-event.ts'
import type { TestPlatform } from '../../fixtures/test-platform.ts'
import { openTenant, OWN_SCOPES, type Party, type Tenant } from '../../fixtures/three-consumers.ts'
import { createRandom, type Random } from '../../random.ts'
import { readSeed } from '../../random-seed.ts'

const SEEDS = Number(process.env['SEEDS'] ?? 4)
const SEED = readSeed(1)
const OWNED = Object.entries(ALL_OPERATIONS).filter(([, { own }]) => own !== undefined)

/** The path of an operation with ids of the party. */
function pathOf(template: string, party: Party): string {
  if (template.includes(':flowId')) {
    return template.replace(':id', party.subscriptions.at(-1)!).replace(':flowId', party.flows[0]!)
  }
  const collections: Readonly<Record<string, string | undefined>> = {
    '/v1/subscriptions/': party.subscriptions[0],
    '/v1/eventsubscriptions/': party.receivers[0],
    '/v1/approvals/': party.flows[0],
    '/v1/risks/': party.risks[0],
    '/v1/requests/': party.requests[0],
  }
  const id = Object.entries(collections).find(([start]) => template.startsWith(start))?.[1] ?? 'none'
  return template
    .replace(':credentialId', party.credentials[0]!)
    .replace(':deliveryId', party.deliveries[0]!)
    .replace(/:(id|riskId)/, id)
}

const BODIES: Readonly<Record<string, unknown>> = {
  setScopes: { scopes: [] },
  updateCredential: { name: 'Mine' },
  requestTierChange: { slaVariant: 'gold' },
  updateEventSubscription: { events: null },
  testEventSubscription: { type: 'SlaChanged' },
  redeliver: { since: '2026-01-01T00:00:00Z' },
}

const isOfItem = ([, { path }]: (typeof OWNED)[number]) => /:(id|riskId)/.test(path) && !/apis|products/.test(path)
const ITEMS = OWNED.filter(isOfItem)
const isStatement = ([operationId]: (typeof OWNED)[number]) => operationId === 'getStatement'
const LISTS = OWNED.filter(
  (each) => each[1].method === 'GET' && !each[1].path.includes(':') && !each[1].endless && !isStatement(each),
)

/** Ids and names that tell whose an answer is. */
const marksOf = ({ consumer, subscriptions, flows, receivers, risks, requests }: Party) => [
  ...[consumer, ...subscriptions, ...flows, ...receivers, ...risks],
  ...requests.map((id) => `"${id}"`),
]

function expectNothingOf(others: readonly Party[], text: string, what: string): void {
  for (const mark of others.flatMap(marksOf)) expect(text.includes(mark), `${what} shows ${mark}`).toBe(false)
}

async function snapshot({ platform, admin, parties }: Tenant): Promise<unknown> {
  const reads = OWNED.filter(
    ([, { method, path, endless }]) => method === 'GET' && !endless && !path.endsWith('products/:id'),
  )
  return Promise.all(
    parties.flatMap((party) =>
      reads.map(async ([, { path }]) => {
        const { text } = await platform.send('GET', pathOf(path, party).replace(':name', 'payments-v1'), {
          token: admin,
        })
        return text
      }),
    ),
  )
}

async function pagesOf(
  platform: TestPlatform,
  token: string,
  path: string,
  limit: number,
): Promise<readonly unknown[]> {
  const items: unknown[] = []
  for (let next: unknown = ''; next !== null;) {
    const cursor = next === '' ? '' : `&cursor=${encodeURIComponent(String(next))}`
    const { status, body } = await platform.send('GET', `${path}?limit=${limit}${cursor}`, { token })
    expect(status).toBe(200)
    items.push(...(body['items'] as unknown[]))
    next = body['next']
  }
  return items
}

const EXPECTED: Readonly<Record<string, (party: Party) => number>> = {
  listSubscriptions: ({ subscriptions }) => subscriptions.length,
  listWaitingFlows: ({ flows }) => flows.length,
  listEventSubscriptions: ({ receivers }) => receivers.length,
  listRisks: ({ risks }) => risks.length,
  listRequests: ({ requests }) => requests.length,
  listLineItems: ({ requests }) => requests.length,
  listSummaries: ({ requests }) => requests.length,
  // The risks have one severity.
  readAttention: () => 1,
  listApis: () => 1,
  listProducts: () => 1,
}

/** Another consumer's resource is answered like none, and no request changes it. */
async function expectRefusals(tenant: Tenant): Promise<void> {
  const { platform, parties } = tenant
  const before = await snapshot(tenant)
  for (const [index, { token }] of parties.entries()) {
    for (const other of parties.toSpliced(index, 1)) {
      for (const [operationId, { method, path }] of ITEMS) {
        const body = BODIES[operationId]
        const at = pathOf(path, other)
        const answer = await platform.send(method, at, { token, body })
        expect([operationId, answer.status, answer.body['code']]).toEqual([operationId, 404, 'not_found'])
        const conditions = { 'if-match': '*', 'if-none-match': '*' }
        expect((await platform.send(method, at, { token, body, headers: conditions })).status).toBe(404)
      }
    }
  }
  expect(await snapshot(tenant)).toEqual(before)
}

/** Each consumer reads its own resources, and lists them all and nothing else, page by page. */
async function expectOwnResources({ platform, parties }: Tenant, limit: number): Promise<void> {
  for (const [index, party] of parties.entries()) {
    const others = parties.toSpliced(index, 1)
    for (const [operationId, { method, path }] of ITEMS) {
      if (method !== 'GET') continue
      const { status, text } = await platform.send('GET', pathOf(path, party), { token: party.token })
      expect([operationId, status]).toEqual([operationId, 200])
      expectNothingOf(others, text, operationId)
    }
    for (const [operationId, { path }] of LISTS) {
      const items = await pagesOf(platform, party.token, path, limit)
      expect([operationId, items.length]).toEqual([operationId, EXPECTED[operationId]!(party)])
      expectNothingOf(others, JSON.stringify(items), operationId)
    }
  }
}

/** A filter, a cursor of the provider, `X-Consumer-Id` and CSV show nothing of another consumer. */
async function expectNothingByQuery({ platform, admin, parties }: Tenant): Promise<void> {
  const [{ token }, ...others] = parties as [Party, ...Party[]]
  for (const [operationId, { path, query }] of LISTS) {
    const wide = await platform.send('GET', `${path}?limit=1`, { token: admin })
    const { next } = wide.body
    const fields = Object.keys((query?.['properties'] ?? {}) as object)
    const filters = fields.flatMap((name) =>
      ['consumer', 'customer'].includes(name) ? others.map(({ consumer }) => `${name}=${consumer}`) : [],
    )
    for (const { consumer } of others) {
      const { status } = await platform.send('GET', path, { token, headers: { 'x-consumer-id': consumer } })
      expect([operationId, status]).toEqual([operationId, 403])
    }
    for (const filter of filters) {
      const { body } = await platform.send('GET', `${path}?${filter}`, { token })
      expect([operationId, filter, body]).toEqual([operationId, filter, { items: [], next: null }])
    }
    for (const suffix of ['', ...filters, ...(next === null ? [] : [`cursor=${encodeURIComponent(String(next))}`])]) {
      for (const accept of ['application/json', 'text/csv']) {
        const { text } = await platform.send('GET', `${path}?${suffix}`, { token, headers: { accept } })
        expectNothingOf(others, text, `${operationId} ${suffix}`)
      }
    }
  }
}

/** A statement is that of the consumer; those of others are like those of nobody. */
async function expectOwnStatement({ platform, parties }: Tenant): Promise<void> {
  for (const { token, consumer, requests } of parties) {
    const { body } = await platform.send('GET', '/v1/statements?month=2027-01', { token })
    expect([body['consumer'], (body['lines'] as unknown[]).length]).toEqual([consumer, requests.length])
    for (const other of [...parties.map((party) => party.consumer), 'nobody'].filter((each) => each !== consumer)) {
      for (const accept of ['application/json', 'text/csv', 'text/html']) {
        const answer = await platform.send('GET', `/v1/statements?consumer=${other}`, { token, headers: { accept } })
        expect(answer.status, `${accept} ${other}`).toBe(404)
        expect(answer.text).not.toContain(other)
      }
    }
  }
}

/** The stream has only the risks of the consumer, live and after an earlier event. */
async function expectOwnStream({ platform, parties }: Tenant, random: Random): Promise<void> {
  const [{ token, consumer }, ...others] = parties as [Party, ...Party[]]
  await platform.server.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = platform.server.app.server.address() as AddressInfo
  // Any event, also one of another consumer.
  const { history } = platform.risks
  const from = history[random.below(history.length)]!
  const socket = createConnection(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  const done = new Promise<string>((resolve) => {
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      if (text.includes('the last one')) resolve(text)
    })
  })
  const head = `Host: a\r\nAuthorization: Bearer ${token}\r\nLast-Event-ID: ${from.id}\r\n\r\n`
  socket.write(`GET /v1/events/subscribe HTTP/1.1\r\n${head}`)
  await expect.poll(() => platform.risks.subscribers).toBe(1)
  for (const other of others) addLive(platform, other.consumer, 'of another one')
  addLive(platform, consumer, 'the last one')
  const text = await done
  expect(text).not.toContain('of another one')
  expectNothingOf(others, text, 'the stream')
}

function addLive({ risks }: TestPlatform, consumer: string, message: string): void {
  risks.publish(riskEvent({ attributedTo: { kind: 'consumer', id: consumer, name: 'n' }, message }))
}

describe('a consumer with scopes of the own width', () => {
  it.each(Array.from({ length: SEEDS }, (_, index) => SEED + index))(
    'reads and changes only its own resources, by id, list, filter, cursor, CSV and stream (seed %i)',
    async (seed) => {
      const tenant = await openTenant(seed)
      await expectRefusals(tenant)
      await expectOwnResources(tenant, 1 + createRandom(seed).below(3))
      await expectOwnStatement(tenant)
      await expectNothingByQuery(tenant)
      await expectOwnStream(tenant, createRandom(seed))
    },
  )
})

it('every scope with an own width is used by an operation', () => {
  const used = new Set(OWNED.map(([, { scope }]) => ownScope(scope!)))
  expect([...used].sort()).toEqual(OWN_SCOPES.toSorted())
})

import { expect, it } from 'vitest'
import { DRIFT_KIND, createDrifts } from '../../../../src/control/programmes/drifts.ts'
import { OUTBOX_EVENT_KIND } from '../../../../src/control/command/event-outbox.ts'
import type { Drift } from '../../../../src/foundation/domain/drift.ts'
import { openTestCatalogue, type TestCatalogue } from '../../../fixtures/test-catalogue.ts'

const DAY_MS = 86_400_000
const drift = (changes: Partial<Drift> = {}): Drift => ({
  tenant: 'acme',
  api: 'orders-v1',
  operation: 'listOrders',
  kind: 'undeclared_status',
  status: 202,
  detail: '202',
  requestId: 'req-1',
  ...changes,
})

function open(catalogue: TestCatalogue) {
  const { registry, createId, clock } = catalogue
  const counted: string[] = []
  const drifts = createDrifts({
    registry,
    createId,
    clock: { nowMs: () => clock.nowMs, after: () => () => {}, every: () => () => {} },
    log: { warn: () => {}, error: () => {} },
    count: (reason) => counted.push(reason),
  })
  return { ...drifts, counted }
}

async function eventsOf({ registry }: TestCatalogue, tenant = 'acme') {
  const found = await registry.list(OUTBOX_EVENT_KIND, { tenant, limit: 100 })
  return found.filter(({ body }) => body.type === 'DesignDrift').map(({ body }) => body.data)
}

it('publishes a drift when it is first seen and again a day later, also after a restart', async () => {
  const catalogue = openTestCatalogue()
  const first = open(catalogue)
  for (let time = 0; time < 5; time++) first.record(drift({ requestId: `req-${time}` }))
  first.record(drift({ status: 203, detail: '203' }))
  await first.settled()
  expect(await eventsOf(catalogue)).toMatchObject([
    { api: 'orders-v1', operation: 'listOrders', kind: 'undeclared_status', status: 202, requestId: 'req-0' },
    { status: 203 },
  ])

  const second = open(catalogue)
  second.record(drift())
  await second.settled()
  expect(await eventsOf(catalogue)).toHaveLength(2)
  catalogue.clock.nowMs += DAY_MS
  second.record(drift())
  await second.settled()
  expect(await eventsOf(catalogue)).toHaveLength(3)
})

it('publishes one drift per place in a body and tenant, whatever is wrong at the place', async () => {
  const catalogue = openTestCatalogue()
  const { record, settled } = open(catalogue)
  record(drift({ kind: 'undeclared_body', detail: '/id must be integer' }))
  record(drift({ kind: 'undeclared_body', detail: '/id must be string' }))
  record(drift({ kind: 'undeclared_body', detail: '/name must be string' }))
  record(drift({ tenant: 'rival', operation: '' }))
  await settled()

  expect((await eventsOf(catalogue)).map(({ detail }) => detail)).toEqual([
    '/id must be integer',
    '/name must be string',
  ])
  expect(await eventsOf(catalogue, 'rival')).toMatchObject([{ operation: null }])
})

it('publishes a drift that could not be stored when it is seen again', async () => {
  const catalogue = openTestCatalogue()
  const { registry } = catalogue
  let isFull = true
  const broken = {
    ...catalogue,
    registry: {
      ...registry,
      commit: (...args: Parameters<typeof registry.commit>) =>
        isFull ? Promise.reject(new Error('full')) : registry.commit(...args),
    },
  }
  const { record, settled, counted } = open(broken)
  record(drift())
  await settled()
  expect(counted).toEqual(['drift_not_told'])
  isFull = false
  record(drift())
  await settled()

  expect(await eventsOf(catalogue)).toHaveLength(1)
})

it('limits the undeclared paths per API, and still publishes other drifts', async () => {
  const catalogue = openTestCatalogue()
  const { record, settled, counted } = open(catalogue)
  const unknown = (path: number, api = 'orders-v1') =>
    drift({ api, operation: '', kind: 'undeclared_operation', status: 404, detail: `GET /${path}` })
  for (let path = 0; path < 150; path++) {
    record(unknown(path))
    await settled()
  }
  expect(counted).toEqual(Array(50).fill('drift_not_told'))
  record(drift())
  record(unknown(0, 'cards-v1'))
  await settled()
  expect(await catalogue.registry.list(DRIFT_KIND, { tenant: 'acme', limit: 500 })).toHaveLength(102)
  // A known drift is published again after a day.
  catalogue.clock.nowMs += DAY_MS
  record(unknown(0))
  await settled()
  expect(counted).toHaveLength(50)
  expect(await catalogue.registry.list(OUTBOX_EVENT_KIND, { tenant: 'acme', limit: 500 })).toHaveLength(103)
})

it('publishes the drift of a canary with its revision, beside the same drift of the active revision', async () => {
  const catalogue = openTestCatalogue()
  const { record, settled } = open(catalogue)
  for (const revision of [undefined, 2, 2, 3]) record(drift(revision === undefined ? {} : { revision }))
  await settled()
  const { record: recordLater, settled: settledLater } = open(catalogue)
  recordLater(drift({ revision: 2 }))
  await settledLater()
  expect((await eventsOf(catalogue)).map((data) => data['revision'])).toEqual([undefined, 2, 3])
  const stored = await catalogue.registry.list(DRIFT_KIND, { tenant: 'acme', limit: 9 })
  expect(stored.map(({ body }) => body.revision)).toEqual([undefined, 2, 3])
})

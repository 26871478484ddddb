/** What holds for every resource and every request of the platform API, checked over the declarations of all operations. */

import { describe, expect, it } from 'vitest'
import type { Operation } from '../../../src/interfaces/platform/operation.ts'
import { ALL_OPERATIONS } from '../../../src/interfaces/platform/operations.ts'
import { createAll } from '../../fixtures/created-resources.ts'
import { openTestPlatform, type TestPlatform } from '../../fixtures/test-platform.ts'

type Json = Readonly<Record<string, unknown>>

const OPERATIONS = Object.entries<Operation>(ALL_OPERATIONS)
const membersOf = (schema: unknown): Json => ((schema as Json | undefined)?.['properties'] ?? {}) as Json

/** Returns the places of a schema that accept a value of any size. */
function unboundedIn(schema: Json, place: string): string[] {
  const types = [schema['type']].flat()
  const isListed = schema['enum'] !== undefined || schema['const'] !== undefined
  const isOpen =
    (types.includes('string') && !isListed && schema['maxLength'] === undefined) ||
    (types.includes('array') && schema['maxItems'] === undefined) ||
    (types.includes('object') && schema['additionalProperties'] !== false && schema['maxProperties'] === undefined)
  const within = [
    ...Object.entries(membersOf(schema)),
    ...['items', 'additionalProperties'].map((name) => [name, schema[name]] as const),
  ]
  const deeper = within.flatMap(([name, each]) =>
    typeof each === 'object' && each !== null ? unboundedIn(each as Json, `${place}/${name}`) : [],
  )
  return isOpen ? [place, ...deeper] : deeper
}

it('every text, list and map of a request is bounded', () => {
  const places = OPERATIONS.flatMap(([id, { body, query, headers }]) =>
    Object.entries({ body, query, ...headers }).flatMap(([name, schema]) =>
      schema === undefined ? [] : unboundedIn(schema as Json, `${id} ${name}`),
    ),
  )
  expect(places).toEqual([])
})

const lists = OPERATIONS.filter(([, { method, query }]) => method === 'GET' && 'cursor' in membersOf(query))

describe('labels', () => {
  /** Lists of records that belong to a resource, or that nobody creates. */
  const RECORDS = [
    ...['listNodes', 'listSettings'],
    'readAttention',
    ...['listAudit', 'listDeliveries', 'listLineItems', 'listRequests', 'listRisks', 'listSummaries'],
    ...['listApprovals', 'listProgrammeApprovals', 'listOperations', 'listRevisions', 'getRevisionLevels'],
    ...['listMySessions', 'listRegisteredClients', 'listSessions', 'listSigningKeys', 'listMutes', 'listMutesOfRisk'],
  ]
  const itemOf = ({ answer }: Operation): unknown => (membersOf(answer)['items'] as Json | undefined)?.['items']

  it('are members of the items of every list of resources, and its filter', () => {
    const without = lists.filter(
      ([, operation]) => !('label' in membersOf(operation.query) && 'labels' in membersOf(itemOf(operation))),
    )
    expect(without.map(([id]) => id).toSorted()).toEqual(RECORDS.toSorted())
  })

  it('can be set and changed wherever they are shown', () => {
    const shown = OPERATIONS.filter(([, { method, answer }]) => method === 'GET' && 'labels' in membersOf(answer))
    const changed = new Set(
      OPERATIONS.filter(([, { body }]) => 'labels' in membersOf(body)).map(([, { path }]) => path.replace(/^.*v1/, '')),
    )
    /** Flows are read below what they are for, and the own account is labelled by administrators. */
    const elsewhere = [
      [/^.*\/approvalFlows\/:flowId$/, '/approvals/:id'],
      [/^\/me$/, '/users/:id'],
    ] as const
    const pathOf = (path: string) =>
      elsewhere.reduce((from, [pattern, to]) => from.replace(pattern, to), path.replace(/^.*v1/, ''))
    expect(shown.length).toBeGreaterThan(15)
    expect(shown.filter(([, { path }]) => !changed.has(pathOf(path))).map(([id]) => id)).toEqual([])
  })
})

describe('every resource that a caller creates', () => {
  type Send = (method: string, path: string, body?: unknown) => ReturnType<TestPlatform['send']>

  /** Tenants are exported first, and these end in another way than by DELETE of their address. */
  const ENDS: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
    createSubscription: [['POST', '/cancel']],
    createTenant: [
      ['POST', '/disable'],
      ['GET', '/export'],
      ['DELETE', ''],
    ],
  }
  /** These end with their API, which `stageRevision` creates. A declaration that was in force stays, because bills refer to it. */
  const OF_API = ['stageRevision', 'createOpenSlaSpec', 'createProgramme']
  /** Others can be removed only after these. */
  const FIRST = ['createSubscription', 'createProduct']
  /** A mute is part of an episode. */
  const isResource = (operationId: string) =>
    (ALL_OPERATIONS[operationId]?.status === 201 && operationId !== 'createMute') || operationId === 'createProgramme'

  async function setUp() {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const send: Send = (method, path, body) =>
      platform.send(method, path, { token, ...(body !== undefined && { body }) })
    const all = await createAll(platform, token)
    const made = all.flatMap(({ operationId, location }) =>
      isResource(operationId) ? [{ operationId, path: new URL(location).pathname.replace('/progress', '') }] : [],
    )
    /** The newest entry of the audit log, which a new tenant has of its own. */
    const lastEntry = async ({ operationId, path }: { operationId: string; path: string }) => {
      const reader = operationId === 'createTenant' ? platform.token(path.split('/').at(-1)!) : token
      const { body } = await platform.send('GET', '/v1/audit?limit=20', { token: reader })
      return JSON.stringify((body['items'] as object[]).filter((each) => !JSON.stringify(each).includes('"due.')))
    }
    return { send, made, lastEntry }
  }

  it('covers all collections', async () => {
    const { made } = await setUp()
    const collections = OPERATIONS.filter(
      ([id, { method, path }]) => method === 'POST' && isResource(id) && !path.includes(':'),
    )
    expect(new Set(made.map(({ operationId }) => operationId))).toEqual(new Set(collections.map(([id]) => id)))
  })

  it('is labelled by a change, is found by the label, and the change is audited', async () => {
    const { send, made, lastEntry } = await setUp()
    for (const each of made) {
      const { operationId, path } = each
      const before = await lastEntry(each)
      const body = { labels: { team: 'red' } }
      const changed =
        operationId === 'createRole'
          ? await send('PUT', path, { ...body, scopes: ['apis:read'] })
          : await send('PATCH', path, body)
      expect([operationId, changed.status, changed.body['labels']]).toEqual([operationId, 200, body.labels])
      expect(await lastEntry(each), operationId).not.toBe(before)
      const { body: list } = await send('GET', `${path.slice(0, path.lastIndexOf('/'))}?label=team:red`)
      expect([operationId, list['items']]).toEqual([operationId, [expect.objectContaining(body)]])
    }
  })

  it('is in no list by a label that it does not have', async () => {
    const { send, made } = await setUp()
    const pathOf = (id: string) => made.find(({ operationId }) => operationId === id)!.path
    // A request that waits for an approval is in a list of its own.
    await send('PATCH', '/v1/apis/payments-v1/policy', { subscriptionApproval: 'Manual' })
    const consumer = pathOf('createConsumer').split('/').at(-1)
    expect((await send('POST', '/v1/subscriptions', { consumer, api: 'payments-v1' })).status).toBe(201)
    for (const [id, { path, query }] of lists) {
      if (!('label' in membersOf(query))) continue
      const list = path.replace('/v1/subscriptions/:id', pathOf('createSubscription'))
      const countOf = async (address: string) => ((await send('GET', address)).body['items'] as object[]).length
      expect(await countOf(list), id).toBeGreaterThan(0)
      expect(await countOf(`${list}?label=team:red`), id).toBe(0)
    }
  })

  it('is removed or ended, which is audited', async () => {
    const { send, made, lastEntry } = await setUp()
    const rank = ({ operationId }: { operationId: string }) => (FIRST.includes(operationId) ? 0 : 1)
    for (const each of made.toSorted((a, b) => rank(a) - rank(b))) {
      const { operationId, path } = each
      if (OF_API.includes(operationId)) continue
      const before = await lastEntry(each)
      const ends = ENDS[operationId] ?? [['DELETE', '']]
      let status = 0
      for (const [method, suffix] of ends) status = (await send(method, path + suffix)).status
      expect([operationId, status]).toEqual([operationId, ends.at(-1)![0] === 'DELETE' ? 204 : 200])
      expect(await lastEntry(each), operationId).not.toBe(before)
      if (status === 204) expect([operationId, (await send('GET', path)).status]).toEqual([operationId, 404])
    }
    expect((await send('DELETE', '/v1/apis/payments-v1')).status).toBe(204)
    const pathOf = (id: string) => made.find(({ operationId }) => operationId === id)?.path ?? ''
    expect((await send('GET', pathOf('stageRevision'))).status).toBe(404)
    expect((await send('GET', pathOf('createOpenSlaSpec'))).body).toMatchObject({ inForce: false })
  })
})

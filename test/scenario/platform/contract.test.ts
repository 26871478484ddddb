/**
 * Rules of the contract that hold for a class of operations, checked on every operation that `/openapi.json` describes.
 */

import { describe, expect, it } from 'vitest'
import { buildOpenApi } from '../../../src/interfaces/platform/openapi.ts'
import { OPERATORS_SCOPE } from '../../../src/control/access/platform-access.ts'
import { ALL_OPERATIONS, platformScopes } from '../../../src/interfaces/platform/operations.ts'
import { publishApi } from '../../fixtures/published-api.ts'
import { BASE_URL, GATEWAY_URL, openTestPlatform } from '../../fixtures/test-platform.ts'
import { createAll, settled } from '../../fixtures/created-resources.ts'
import { CREDENTIAL_KIND } from '../../../src/control/access/credential-document.ts'
import { DUE_KIND } from '../../../src/control/command/due-times.ts'

type Schema = Readonly<Record<string, unknown>>

interface Parameter {
  readonly name: string
  readonly in: string
  readonly deprecated?: boolean
  readonly schema: Schema
}

interface Described {
  readonly operationId: string
  readonly parameters?: readonly Parameter[]
  readonly responses: Readonly<
    Record<string, { readonly headers?: Schema; readonly content?: Readonly<Record<string, { schema: Schema }>> }>
  >
}

interface Operation extends Described {
  readonly method: string
  readonly path: string
}

/** Query parameters that page, limit, reveal or format a list, or filter by one of the `labels`, and name no field of its items. */
const NO_FILTERS = new Set(['reveal', 'label', 'limit', 'cursor', 'from', 'to', 'groupBy', 'interval'])

const document = buildOpenApi({ operations: ALL_OPERATIONS, baseUrl: BASE_URL, gatewayUrl: GATEWAY_URL })
const paths = document['paths'] as Readonly<Record<string, Readonly<Record<string, Described>>>>
const operations: readonly Operation[] = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, each]) => ({ ...each, method: method.toUpperCase(), path })),
)

function resolve(schema: Schema): Schema {
  const reference = schema['$ref']
  if (typeof reference !== 'string') return schema
  const { schemas } = document['components'] as { readonly schemas: Readonly<Record<string, Schema>> }
  return schemas[reference.split('/').at(-1) ?? ''] ?? {}
}

function answerOf({ responses }: Operation): Schema {
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? []
  return resolve(success?.content?.['application/json']?.schema ?? {})
}

function propertiesOf(schema: Schema): Readonly<Record<string, Schema>> {
  return (resolve(schema)['properties'] ?? {}) as Readonly<Record<string, Schema>>
}

/** Returns the names of all members of a schema, at any depth. */
function fieldsOf(schema: Schema): readonly string[] {
  const { properties = {}, items } = resolve(schema) as {
    properties?: Readonly<Record<string, Schema>>
    items?: Schema
  }
  const below = Object.entries(properties).flatMap(([name, member]) => [name, ...fieldsOf(member)])
  return items === undefined ? below : [...below, ...fieldsOf(items)]
}

const isList = (operation: Operation): boolean =>
  operation.method === 'GET' &&
  'items' in propertiesOf(answerOf(operation)) &&
  'next' in propertiesOf(answerOf(operation))

const queryOf = ({ parameters = [] }: Operation): readonly Parameter[] =>
  parameters.filter((each) => each.in === 'query')

describe('contract, lists', () => {
  it('declare `limit` from 1 to 500 with 50 by default, and `cursor`', () => {
    const lists = operations.filter(isList)
    expect(lists.length).toBeGreaterThan(20)
    for (const operation of lists) {
      const query = new Map(queryOf(operation).map(({ name, schema }) => [name, schema]))
      expect(query.get('limit'), operation.operationId).toMatchObject({ minimum: 1, maximum: 500, default: 50 })
      expect(query.has('cursor'), operation.operationId).toBe(true)
    }
  })

  it('name each filter after a field of their items, except for the deprecated names', () => {
    for (const operation of operations.filter(isList)) {
      const { items } = propertiesOf(answerOf(operation)) as { readonly items: { readonly items: Schema } }
      const fields = new Set(fieldsOf(items.items))
      const filters = queryOf(operation).filter(({ name, deprecated }) => !NO_FILTERS.has(name) && deprecated !== true)
      const strange = filters.map(({ name }) => name).filter((name) => !fields.has(name))
      expect(strange, operation.operationId).toEqual([])
    }
  })

  it('return one item per page, and the others through `next`', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { subscription, proxy } = await publishApi(platform, token)
    await platform.send('POST', '/v1/proxies', { token, body: { api: 'payments-v1', fromRevision: 1 } })
    const lists = [
      `/v1/subscriptions/${subscription}/operations`,
      `/v1/subscriptions/${subscription}/credentials`,
      `/v1/proxies/${proxy}/revisions`,
    ]
    for (const path of lists) {
      const whole = (await platform.send('GET', `${path}?limit=500`, { token })).body
      const seen: unknown[] = []
      for (let query = '?limit=1'; ;) {
        const { status, body } = await platform.send('GET', path + query, { token })
        expect(status).toBe(200)
        expect((body['items'] as unknown[]).length).toBe(1)
        seen.push(...(body['items'] as unknown[]))
        if (body['next'] === null) break
        query = `?limit=1&cursor=${String(body['next'])}`
      }
      expect(seen.length, path).toBeGreaterThan(1)
      expect({ items: seen, next: null }).toEqual(whole)
      const spoilt = await platform.send('GET', `${path}?cursor=AAAA`, { token })
      expect(spoilt).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } })
    }
  })
})

/** Lists of what is no resource of its own, with the reason why their items have no labels. */
const WITHOUT_LABELS: Readonly<Record<string, string>> = {
  getRevisionLevels: 'a revision is part of a proxy',
  listApprovals: 'a decision is part of an approval flow',
  listAudit: 'an entry of a log',
  listDeliveries: 'an entry of a log',
  listLineItems: 'an entry of a log',
  listMutes: 'a mute is part of an episode',
  listMutesOfRisk: 'a mute is part of an episode',
  listMySessions: 'the service makes it',
  listNodes: 'the service makes it',
  listProgrammeApprovals: 'a decision is part of an approval flow',
  listRegisteredClients: 'a client makes it',
  listRequests: 'an entry of a log',
  listRevisions: 'a revision is part of a proxy',
  listRisks: 'the service makes it',
  listSettings: 'set where the service is started',
  listSigningKeys: 'the service makes it',
  listOperations: 'an operation is part of a document',
  listSummaries: 'an entry of a log',
  listSessions: 'the service makes it',
  readAttention: 'the service makes it',
}

describe('contract, labels', () => {
  it('every list takes `label`, and every resource has `labels`, except those with a reason', () => {
    const lists = operations.filter(isList)
    const without = lists.filter((operation) => !queryOf(operation).some(({ name }) => name === 'label'))
    expect(without.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(WITHOUT_LABELS).sort())
    for (const operation of lists.filter(({ operationId }) => !Object.hasOwn(WITHOUT_LABELS, operationId))) {
      const { items } = propertiesOf(answerOf(operation)) as { readonly items: { readonly items: Schema } }
      const { required } = resolve(items.items)
      expect(required, operation.operationId).toContain('labels')
      const isChanged = operations.some(
        ({ path, method }) => path.startsWith(operation.path) && ['PATCH', 'PUT'].includes(method),
      )
      expect(isChanged || operation.operationId === 'listApprovalFlows', operation.operationId).toBe(true)
    }
  })
})

describe('contract, filters', () => {
  it('accept the field names `status`, `ApiId` and `ApiProductId` as well as the old names', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { subscription, waiting, consumer, product } = await publishApi(platform, token)
    const { body } = await platform.send('POST', '/v1/subscriptions', { token, body: { consumer, product } })
    const ids = async (path: string): Promise<string[]> => {
      const answer = await platform.send('GET', path, { token })
      expect(answer.status, answer.text).toBe(200)
      return (answer.body['items'] as { id: string }[]).map(({ id }) => id)
    }
    for (const name of ['ApiId', 'api']) {
      expect(await ids(`/v1/subscriptions?${name}=payments-v1`)).toEqual([subscription, waiting])
      expect(await ids(`/v1/subscriptions?${name}=other-v1`)).toEqual([])
    }
    for (const name of ['ApiProductId', 'product']) {
      expect(await ids(`/v1/subscriptions?${name}=${product}`)).toEqual([body['id']])
    }
    const specification = Buffer.from('openapi: 3.1.0').toString('base64')
    const made = await platform.send('POST', '/v1/programmes', { token, body: { name: 'Payments', specification } })
    await settled(platform, token, String(made.body['id']))
    for (const name of ['status', 'state']) {
      expect(await ids(`/v1/programmes?${name}=failed`)).toEqual([made.body['id']])
      expect(await ids(`/v1/programmes?${name}=succeeded`)).toEqual([])
    }
  })

  it('are refused with 400 if the old and the new name of a filter disagree', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    expect((await platform.send('GET', '/v1/subscriptions?ApiId=a-v1&api=a-v1', { token })).status).toBe(200)
    const answer = await platform.send('GET', '/v1/subscriptions?ApiId=a-v1&api=b-v1', { token })
    expect(answer).toMatchObject({ status: 400, body: { code: 'payload_invalid', errors: [{ pointer: '/api' }] } })
  })
})

describe('contract, fields', () => {
  it('of an operation of a product subscription name its API', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { consumer, product, subscription } = await publishApi(platform, token)
    const { body } = await platform.send('POST', '/v1/subscriptions', { token, body: { consumer, product } })
    for (const id of [subscription, String(body['id'])]) {
      const { body: page } = await platform.send('GET', `/v1/subscriptions/${id}/operations`, { token })
      const items = page['items'] as { api: string }[]
      expect(items.length).toBeGreaterThan(1)
      expect(new Set(items.map(({ api }) => api))).toEqual(new Set(['payments-v1']))
    }
  })

  it('of a programme show its `specification` as sent', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const specification = Buffer.from('openapi: 3.1.0\n# ü').toString('base64')
    const made = await platform.send('POST', '/v1/programmes', { token, body: { name: 'Payments', specification } })
    const { body } = await platform.send('GET', `/v1/programmes/${String(made.body['id'])}`, { token })
    expect(body).toMatchObject({ name: 'Payments', specification })
  })

  it('of resource units are numbers, and those of money are decimal strings, everywhere', () => {
    const unitNames = new Set(['resourceUnits', 'used', 'remaining', 'value', 'units'])
    const typesOf = (schema: Schema): readonly (readonly [string, unknown])[] => {
      const { properties = {}, items } = resolve(schema) as { properties?: Record<string, Schema>; items?: Schema }
      // The values of claims and of headers are text.
      const isText = 'claim' in properties || 'name' in properties
      const amounts = Object.entries(properties).filter(([name]) => name !== 'value' || !isText)
      const here = amounts.flatMap(([name, member]) => [[name, resolve(member)['type']] as const, ...typesOf(member)])
      return items === undefined ? here : [...here, ...typesOf(items)]
    }
    const types = operations.flatMap((operation) => typesOf(answerOf(operation)))
    const units = types.filter(([name]) => unitNames.has(name))
    expect(units.length).toBeGreaterThan(5)
    for (const [name, type] of units) expect([type].flat(), name).not.toContain('string')
    for (const [name, type] of types) if (name === 'amount') expect(type).toBe('string')
  })
})

describe('contract, 201 and 202', () => {
  it('declare a `Location` for every operation', () => {
    const answers = operations.flatMap(({ operationId, responses }) =>
      ['201', '202'].flatMap((status) => {
        const response = responses[status]
        return response === undefined ? [] : [{ operationId, headers: response.headers ?? {} }]
      }),
    )
    expect(answers.length).toBeGreaterThan(15)
    for (const { operationId, headers } of answers) expect(headers, operationId).toHaveProperty('Location')
  })

  it('send a `Location` that resolves, for every operation', async () => {
    const platform = await openTestPlatform()
    const operator = platform.token('acme')
    const made = await createAll(platform, operator)
    const declared = operations.filter(({ responses }) => '201' in responses || '202' in responses)
    expect(made.map(({ operationId }) => operationId).sort()).toEqual(declared.map((each) => each.operationId).sort())
    for (const { operationId, location } of made) {
      expect(location, operationId).toMatch(BASE_URL)
      const { status, text } = await platform.send('GET', location.slice(BASE_URL.length), { token: operator })
      expect(status, `${operationId} ${location} ${text}`).toBe(200)
    }
  })
})

describe('contract, tenants', () => {
  it('are shown separately to the operator alone, without a secret, and their first credential has an expiry warning', async () => {
    const platform = await openTestPlatform()
    const operator = platform.token('acme')
    const made = await platform.send('POST', '/v1/tenants', { token: operator, body: { name: 'Other' } })
    const path = `/v1/tenants/${String(made.body['id'])}`
    const shown = await platform.send('GET', path, { token: operator })
    expect(shown.body).toEqual({
      id: made.body['id'],
      name: 'Other',
      state: 'Active',
      portal: { enabled: true, name: null, colour: null, logoUrl: null },
      labels: {},
      createdAt: made.body['createdAt'],
    })
    expect((await platform.send('GET', '/v1/tenants/ten_none', { token: operator })).status).toBe(404)
    const others = platformScopes().filter((scope) => scope !== OPERATORS_SCOPE)
    expect((await platform.send('GET', path, { token: platform.token('other', others) })).status).toBe(403)
    const [credential] = await platform.registry.list(CREDENTIAL_KIND, { tenant: String(made.body['id']), limit: 1 })
    const due = await platform.registry.list(DUE_KIND, { where: { subject: credential?.id ?? '' }, limit: 9 })
    expect(due).toHaveLength(1)
  })
})

/** What the published contract does not know, held against a document as a gateway thread has it. */

import { describe, expect, it } from 'vitest'
import { compileRoutePlan } from '../../../../src/publishing/compile-route-plan.ts'
import type { Drift } from '../../../../src/domain/drift.ts'
import type { Call } from '../../../../src/gateway/call/call.ts'
import { createDriftWatch } from '../../../../src/gateway/forwarding/drift-watch.ts'
import { createLimiter } from '../../../../src/gateway/limits/limiter.ts'
import { compileRevision } from '../../../../src/gateway/call/revision.ts'
import { readSpecification } from '../../../../src/governance/specification.ts'
import { OUTCOMES } from '../../../../src/record/call-record.ts'
import type { RecordedCall } from '../../../../src/record/spool-writer.ts'
import { attribution } from '../../../fixtures/calls.ts'

const item = {
  type: 'object',
  required: ['id', 'secret'],
  properties: {
    id: { type: 'integer', readOnly: true },
    secret: { type: 'string', writeOnly: true },
    name: { type: 'string', nullable: true },
    parent: { $ref: '#/components/schemas/Item' },
  },
}
const json = (schema: object, type = 'application/json') => ({ description: 'ok', content: { [type]: { schema } } })
const RESPONSES = {
  '200': json({ $ref: '#/components/schemas/Item' }),
  '201': { $ref: '#/components/responses/Made' },
  '204': { description: 'nothing' },
  '4XX': json({ type: 'object', required: ['title'] }, 'application/problem+json'),
}

async function openWatch(responses: object | null = RESPONSES, components: object = {}) {
  const document = {
    openapi: '3.0.3',
    info: { title: 'Items', version: '1.0.0' },
    paths: { '/items': { get: { operationId: 'list', responses: responses ?? { default: { description: 'any' } } } } },
    components: {
      schemas: { Item: item },
      responses: { Made: json({ type: 'array', items: { $ref: '#/components/schemas/Item' } }) },
      ...components,
    },
  }
  const specification = await readSpecification(Buffer.from(JSON.stringify(document)))
  const rest = { tenant: 'acme', revision: 1, state: 'Active', backend: null } as const
  const plan = compileRoutePlan({ specification, ...rest, allowedScopes: [], memberOfProductIds: [] })
  const backends = { threads: 1, connect: (_: unknown, base: object) => base }
  const limiter = createLimiter({ thread: 0, threads: 1 })
  const revision = await compileRevision(structuredClone(plan), [], limiter, backends)
  const told: Drift[] = []
  const noted: RecordedCall[] = []
  const counted: string[] = []
  let nowMs = 1_000_000
  const watch = createDriftWatch({
    spool: { append: (call) => noted.push(call) },
    tell: (drift) => told.push(drift),
    count: (reason) => counted.push(reason),
    nowMs: () => nowMs,
    onFault(cause) {
      throw cause
    },
  })
  const callOf = (method = 'GET', url = '/items-v1/items?secret=1', by = attribution()): Call =>
    ({ request: { method, url }, sequence: 7, requestId: 'req-7', attribution: by, status: 404 }) as unknown as Call
  const head = (status: number, headers: Record<string, string> = {}, method = 'GET') =>
    watch.head(callOf(method), revision.operations[0]!, status, headers)

  return {
    told,
    noted,
    counted,
    head,
    watch,
    callOf,
    pass: (byMs: number) => (nowMs += byMs),
    /** A whole answer; resolves when a sample of it has been looked at. */
    async answer(status: number, body: string, type = 'application/json', chunkBytes = 7): Promise<boolean> {
      const sample = head(status, { 'content-type': type })
      const bytes = Buffer.from(body)
      for (let at = 0; at < bytes.length; at += chunkBytes) sample?.add(bytes.subarray(at, at + chunkBytes))
      sample?.end()
      await new Promise((resolve) => setImmediate(resolve))
      return sample !== null
    },
  }
}

const short = (drifts: readonly Drift[]) => drifts.map(({ kind, status, detail }) => `${kind} ${status} ${detail}`)

describe('the answers of a backend', () => {
  it.each([
    [200, 'application/json', []],
    [204, undefined, []],
    [304, undefined, []],
    [418, 'application/problem+json; charset=utf-8', []],
    [500, 'text/html', []],
    [503, undefined, []],
    [202, undefined, ['undeclared_status 202 202']],
    [301, undefined, ['undeclared_status 301 301']],
    [200, 'text/html', ['undeclared_media_type 200 text/html']],
    [200, 'nonsense', ['undeclared_media_type 200 nonsense']],
    [404, 'application/json', ['undeclared_media_type 404 application/json']],
  ])('of status %i and type %s', async (status, type, expected) => {
    const { head, told, noted } = await openWatch()
    head(status, type === undefined ? {} : { 'content-type': type })

    expect(short(told)).toEqual(expected)
    expect(noted.map(({ outcome, status: of }) => `${OUTCOMES[outcome]} ${of}`)).toEqual(
      expected.map((text) => text.split(' ').slice(0, 2).join(' ')),
    )
  })

  it('may be anything where any answer is declared', async () => {
    const { head, told } = await openWatch(null)
    for (const status of [200, 302, 404, 418]) head(status, { 'content-type': 'text/html' })

    expect(told).toEqual([])
  })

  it('are laid to nobody but the provider, and name no value of the body', async () => {
    const { answer, noted, told } = await openWatch()
    await answer(200, '{"id":"hunter2"}')

    expect(short(told)).toEqual(['undeclared_body 200 /id must be integer'])
    expect(noted[0]).toMatchObject({ sequence: 7, attribution: { consumer: '', operation: 'list' }, flags: 0 })
  })

  it.each([
    ['{"id":1}', []],
    ['{"id":1,"name":null,"parent":{"id":2}}', []],
    ['{"id":1,"parent":{"id":"x"}}', ['undeclared_body 200 /parent/id must be integer']],
    ['{}', ["undeclared_body 200 must have required property 'id'"]],
    ['{"id":', ['undeclared_body 200 The body is not valid JSON.']],
    ['{"id":1,"id":2}', ['undeclared_body 200 An object has two members with the same name.']],
    ['', []],
  ])('with the body %s', async (body, expected) => {
    const { answer, told } = await openWatch()
    await answer(200, body)

    expect(short(told)).toEqual(expected)
  })

  it('are looked into once a second a status, the first always', async () => {
    const { answer, pass } = await openWatch()

    expect(await answer(200, '{"id":1}')).toBe(true)
    expect(await answer(200, '{"id":1}')).toBe(false)
    expect(await answer(201, '[]')).toBe(true)
    pass(999)
    expect(await answer(200, '{"id":1}')).toBe(false)
    pass(1)
    expect(await answer(200, '{"id":1}')).toBe(true)
  })

  it('are not looked into where they are too long, coded, or a HEAD’s', async () => {
    const { answer, told, head, pass } = await openWatch()
    expect(await answer(200, `{"id":"${'x'.repeat(70_000)}"}`, 'application/json', 16_384)).toBe(true)
    expect(told).toEqual([])
    pass(1_000)

    expect(head(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })).toBeNull()
    expect(head(200, { 'content-type': 'application/json' }, 'HEAD')).toBeNull()
    expect(head(200, { 'content-type': 'application/json', 'content-length': '0' })).toBeNull()
    expect(head(200, { 'content-type': 'application/json; charset=latin1' })).toBeNull()
  })

  it('are told at most once a second of each kind', async () => {
    const { head, told, pass } = await openWatch()
    for (let call = 0; call < 1_000; call++) {
      head(202)
      head(203)
      head(200, { 'content-type': 'text/html' })
    }
    expect(told).toHaveLength(3)
    pass(1_000)
    for (let call = 0; call < 1_000; call++) head(202)
    expect(told).toHaveLength(4)
  })

  it('are not checked by a schema that cannot be used, and the document is served all the same', async () => {
    const { answer, told } = await openWatch({ '200': json({ type: 'string', pattern: '(?=a)b' }) })
    await answer(200, '"anything"')

    expect(told).toEqual([])
  })
})

describe('a known caller', () => {
  it('that asks for what is not declared is told of by path, without its query, once a second', async () => {
    const { watch, callOf, told, noted, pass } = await openWatch()
    watch.operation(callOf('DELETE', '/items-v1/items?token=hunter2'))
    watch.operation(callOf('DELETE', '/items-v1/items'))
    watch.operation(callOf('GET', '/items-v1/other', attribution({ subscription: 'sub_2' })))
    pass(1_000)
    watch.operation(callOf('GET', '/items-v1/other'))

    expect(short(told)).toEqual([
      'undeclared_operation 404 DELETE /items-v1/items',
      'undeclared_operation 404 GET /items-v1/other',
      'undeclared_operation 404 GET /items-v1/other',
    ])
    expect(noted[0]?.attribution).toMatchObject({ consumer: 'con_1' })
  })

  it('is one of so many that are remembered: what is dropped is counted', async () => {
    const { watch, callOf, told, counted } = await openWatch()
    for (let index = 0; index < 2_500; index++) {
      watch.operation(callOf('GET', '/items-v1/x', attribution({ subscription: `sub_${index}` })))
    }

    expect(told).toHaveLength(2_000)
    expect(counted).toEqual(Array<string>(500).fill('drift_not_told'))
  })
})

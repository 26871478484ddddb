import { describe, expect, it } from 'vitest'
import { compileRoutePlan } from '../../../../src/documents/governance/serving/compile-route-plan.ts'
import type { Drift } from '../../../../src/foundation/domain/drift.ts'
import type { Call } from '../../../../src/gateway/call/call.ts'
import { createDriftWatch } from '../../../../src/gateway/forwarding/drift-watch.ts'
import { createResponseRules } from '../../../../src/gateway/headers/header-rules.ts'
import { HeaderMemo } from '../../../../src/gateway/connection/header-memo.ts'
import { readResponseHead } from '../../../../src/gateway/headers/upstream-response.ts'
import { createLimiter } from '../../../../src/limits/limiter.ts'
import { compileRevision } from '../../../../src/gateway/call/revision.ts'
import { readSpecification } from '../../../../src/documents/governance/specification.ts'
import { OUTCOMES } from '../../../../src/foundation/domain/outcome.ts'
import type { RecordedCall } from '../../../../src/storage/spool/spool-writer.ts'
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
  const settings = { threads: 1, gatewayUrl: 'https://gateway.example', connect: (_: unknown, base: object) => base }
  const limiter = createLimiter({ thread: 0, threads: 1 })
  const revision = await compileRevision(structuredClone(plan), [], limiter, settings)
  const emitted: Drift[] = []
  const recorded: RecordedCall[] = []
  const counted: string[] = []
  let nowMs = 1_000_000
  const { withoutCors: responseRules } = createResponseRules()
  const watch = createDriftWatch({
    spool: { append: (call) => recorded.push(call) },
    emit: (drift) => emitted.push(drift),
    count: (reason) => counted.push(reason),
    nowMs: () => nowMs,
    onFault(cause) {
      throw cause
    },
  })
  const callOf = (method = 'GET', url = '/items-v1/items?secret=1', by = attribution()): Call =>
    ({
      ...{ request: { method, url }, startedAt: nowMs, sequence: 7, requestId: 'req-7' },
      ...{ attribution: by, status: 404 },
    }) as unknown as Call
  let canaryRevision: number | null = null
  const head = (status: number, headers: Record<string, string> = {}, method = 'GET') =>
    watch.checkHead(
      callOf(method),
      { ...revision.operations[0]!, canaryRevision },
      status,
      readResponseHead(status, new HeaderMemo(Object.entries(headers).flat()), responseRules),
    )

  return {
    emitted,
    recorded,
    counted,
    head,
    watch,
    callOf,
    advance: (byMs: number) => (nowMs += byMs),
    beCanary: (number: number | null) => (canaryRevision = number),
    /** Sends a whole response; resolves when a sample of it has been checked. Returns whether it was sampled. */
    async respond(status: number, body: string, type = 'application/json', chunkBytes = 7): Promise<boolean> {
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

describe('a response of a backend', () => {
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
  ])('with status %i and type %s is compared with the contract', async (status, type, expected) => {
    const { head, emitted, recorded } = await openWatch()
    head(status, type === undefined ? {} : { 'content-type': type })

    expect(short(emitted)).toEqual(expected)
    expect(recorded.map(({ outcome, status: of }) => `${OUTCOMES[outcome]} ${of}`)).toEqual(
      expected.map((text) => text.split(' ').slice(0, 2).join(' ')),
    )
  })

  it('of a canary is reported with its revision, also if the same drift of the active revision was reported just now', async () => {
    const { head, emitted, respond, beCanary, recorded } = await openWatch()
    for (const revision of [null, 2, 2, null, 3]) {
      beCanary(revision)
      head(202)
    }
    beCanary(2)
    head(404, { 'content-type': 'text/html' })
    await respond(200, '{"id":"text"}')
    expect(emitted.map(({ kind, revision = 'active' }) => `${kind} ${revision}`)).toEqual([
      'undeclared_status active',
      'undeclared_status 2',
      'undeclared_status 3',
      'undeclared_media_type 2',
      'undeclared_body 2',
    ])
    expect(recorded).toHaveLength(5)
  })

  it('may have any status and type if the contract declares a default response', async () => {
    const { head, emitted } = await openWatch(null)
    for (const status of [200, 302, 404, 418]) head(status, { 'content-type': 'text/html' })

    expect(emitted).toEqual([])
  })

  it('is attributed to the provider alone, and its report names no value of the body', async () => {
    const { respond, recorded, emitted } = await openWatch()
    await respond(200, '{"id":"hunter2"}')

    expect(short(emitted)).toEqual(['undeclared_body 200 /id must be integer'])
    expect(recorded[0]).toMatchObject({ sequence: 7, attribution: { consumer: '', operation: 'list' }, flags: 0 })
  })

  it.each([
    ['{"id":1}', []],
    ['{"id":1,"name":null,"parent":{"id":2}}', []],
    ['{"id":1,"parent":{"id":"x"}}', ['undeclared_body 200 /parent/id must be integer']],
    ['{}', ["undeclared_body 200 must have required property 'id'"]],
    ['{"id":', ['undeclared_body 200 The body is not valid JSON.']],
    // Too deep to be checked.
    [`{"id":1,"more":${'['.repeat(64)}${']'.repeat(64)}}`, []],
    ['{"id":1,"id":2}', ['undeclared_body 200 An object has two members with the same name.']],
    ['', []],
  ])('with the body %s is checked by the schema', async (body, expected) => {
    const { respond, emitted } = await openWatch()
    await respond(200, body)

    expect(short(emitted)).toEqual(expected)
  })

  it('is sampled once per second and status, and the first one always', async () => {
    const { respond, advance } = await openWatch()

    expect(await respond(200, '{"id":1}')).toBe(true)
    expect(await respond(200, '{"id":1}')).toBe(false)
    expect(await respond(201, '[]')).toBe(true)
    advance(999)
    expect(await respond(200, '{"id":1}')).toBe(false)
    advance(1)
    expect(await respond(200, '{"id":1}')).toBe(true)
  })

  it('is not sampled if it is too long, encoded, or the response to a HEAD', async () => {
    const { respond, emitted, head, advance } = await openWatch()
    expect(await respond(200, `{"id":"${'x'.repeat(70_000)}"}`, 'application/json', 16_384)).toBe(true)
    expect(emitted).toEqual([])
    advance(1_000)

    expect(head(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })).toBeNull()
    expect(head(200, { 'content-type': 'application/json' }, 'HEAD')).toBeNull()
    expect(head(200, { 'content-type': 'application/json', 'content-length': '0' })).toBeNull()
    expect(head(200, { 'content-type': 'application/json; charset=latin1' })).toBeNull()
  })

  it('is reported at most once per second and kind', async () => {
    const { head, emitted, advance } = await openWatch()
    for (let call = 0; call < 1_000; call++) {
      head(202)
      head(203)
      head(200, { 'content-type': 'text/html' })
    }
    expect(emitted).toHaveLength(3)
    advance(1_000)
    for (let call = 0; call < 1_000; call++) head(202)
    expect(emitted).toHaveLength(4)
  })

  it('is not checked by a schema that cannot be compiled, and the API is still served', async () => {
    const { respond, emitted } = await openWatch({ '200': json({ type: 'string', pattern: '(?=a)b' }) })
    await respond(200, '"anything"')

    expect(emitted).toEqual([])
  })
})

describe('a known caller’s request for an undeclared operation', () => {
  it('is reported by its path without the query, once per second and caller', async () => {
    const { watch, callOf, emitted, recorded, advance } = await openWatch()
    watch.reportOperation(callOf('DELETE', '/items-v1/items?token=hunter2'))
    watch.reportOperation(callOf('DELETE', '/items-v1/items'))
    watch.reportOperation(callOf('GET', '/items-v1/other', attribution({ subscription: 'sub_2' })))
    advance(1_000)
    watch.reportOperation(callOf('GET', '/items-v1/other'))

    expect(short(emitted)).toEqual([
      'undeclared_operation 404 DELETE /items-v1/items',
      'undeclared_operation 404 GET /items-v1/other',
      'undeclared_operation 404 GET /items-v1/other',
    ])
    expect(recorded[0]?.attribution).toMatchObject({ consumer: 'con_1' })
  })

  it('is counted but not reported above the limit of callers', async () => {
    const { watch, callOf, emitted, counted } = await openWatch()
    for (let index = 0; index < 2_500; index++) {
      watch.reportOperation(callOf('GET', '/items-v1/x', attribution({ subscription: `sub_${index}` })))
    }

    expect(emitted).toHaveLength(2_000)
    expect(counted).toEqual(Array<string>(500).fill('drift_not_told'))
  })
})

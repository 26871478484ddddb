import fastify from 'fastify'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createConsoleCookies } from '../../../../src/interfaces/console-server/console-cookies.ts'
import { createConsoleRequests } from '../../../../src/interfaces/console-server/console-requests.ts'
import { createTries, type TriesOptions } from '../../../../src/interfaces/console-server/tries.ts'
import type { GatewayAnswer } from '../../../../src/interfaces/console-server/try-gateway.ts'
import type { GatewayRequest } from '../../../../src/interfaces/console-server/try-request.ts'
import type { PersonToken } from '../../../../src/control/identity/person-tokens.ts'
import { createLog } from '../../../../src/foundation/runtime/log.ts'
import { installJsonBody } from '../../../../src/interfaces/platform/json-body.ts'
import { installProblems } from '../../../../src/interfaces/platform/problems.ts'
import { createValidatorCompiler } from '../../../../src/interfaces/platform/validator.ts'

const CALL = { api: 'ledger-v1', method: 'GET', path: '/entries', query: [], headers: [], body: null }
const CONSOLE = { 'tollgate-console': '1', 'content-type': 'application/json' }
const COOKIE = { cookie: 'tollgate-console=signed-in' }
const tokenOf = (sub: string, tenant: string): string =>
  `e30.${Buffer.from(JSON.stringify({ sub, tenant })).toString('base64url')}.signature`
/** Sessions of Ada at two browsers, of her colleagues, and of somebody in another tenant. */
const TOKENS = new Map([
  ['signed-in', tokenOf('ada', 'acme')],
  ['second', tokenOf('ada', 'acme')],
  ...['bob', 'cid', 'dan', 'eve'].map((name) => [name, tokenOf(name, 'acme')] as const),
  ...['rival-1', 'rival-2', 'rival-3', 'rival-4', 'rival-5'].map((name) => [name, tokenOf(name, 'rival')] as const),
])
const ANSWER: GatewayAnswer = {
  ...{ status: 200, durationMs: 1, headers: [], body: 'ok', bodyBytes: 2, isTruncated: false, requestId: null },
}

function open(change: Partial<TriesOptions> = {}, found: PersonToken | null = { kind: 'token', text: 'secret-token' }) {
  const app = fastify({ bodyLimit: 1_024 })
  onTestFinished(() => app.close())
  app.setValidatorCompiler(createValidatorCompiler())
  installJsonBody(app)
  installProblems(app, { log: createLog('silent'), allowedMethods: () => [] })
  const sent: (readonly [GatewayRequest, string])[] = []
  const asked: string[] = []
  const cookies = createConsoleCookies({ baseUrl: 'http://127.0.0.1:1', gatewayUrl: 'http://127.0.0.1:2' })
  createTries({
    cookies,
    requests: createConsoleRequests({
      cookies,
      sessions: { tokenOf: async (id) => TOKENS.get(id) ?? null },
      admission: { admits: async () => true },
      baseUrl: 'https://platform.example',
    }),
    sessions: {
      async apiTokenOf(id, api, consumer) {
        asked.push([id, api, ...(consumer === undefined ? [] : [consumer])].join(' '))
        return found
      },
    },
    async send(request, token) {
      sent.push([request, token])
      return ANSWER
    },
    ...change,
  }).install(app)
  const post = async (body: unknown, headers: object = {}) => {
    const payload = typeof body === 'string' ? body : JSON.stringify(body)
    const request = {
      method: 'POST' as const,
      url: '/console/try',
      payload,
      headers: { ...CONSOLE, ...COOKIE, ...headers },
    }
    const { statusCode, body: text } = await app.inject(request)
    return { status: statusCode, text, answer: JSON.parse(text) as Record<string, unknown> }
  }
  return { app, sent, asked, post }
}

describe('POST /console/try', () => {
  it('answers 200 with the answer of the gateway, and keeps the token', async () => {
    const { post, sent, asked } = open()
    const { status, text, answer } = await post(CALL)
    expect([status, answer]).toEqual([200, { kind: 'answer', ...ANSWER }])
    expect(sent).toMatchObject([[{ path: '/ledger-v1/entries' }, 'secret-token']])
    expect(asked).toEqual(['signed-in ledger-v1'])
    expect(text).not.toContain('secret-token')
  })

  it.each([
    ['without the header of the console', { 'tollgate-console': '' }, 403],
    ['from another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['from another origin of the site', { 'sec-fetch-site': 'same-site' }, 403],
    ['that a person has typed', { 'sec-fetch-site': 'none' }, 403],
    ['without a session', { cookie: '' }, 401],
    ['with a session that has ended', { cookie: 'tollgate-console=other' }, 401],
    ['with two sessions', { cookie: 'tollgate-console=signed-in; tollgate-console=signed-in' }, 401],
    [
      'with a credential in place of a session',
      { cookie: '', authorization: 'Bearer token', 'x-api-key': 'tg_1' },
      401,
    ],
    ['as a form', { 'content-type': 'text/plain' }, 415],
    ['with an encoding', { 'content-encoding': 'gzip' }, 415],
  ])('refuses a request %s', async (_, headers, status) => {
    const { post, sent, asked } = open()
    expect((await post(CALL, headers)).status).toBe(status)
    expect([sent, asked]).toEqual([[], []])
  })

  it('refuses a stranger before it reads the body', async () => {
    const { post } = open()
    expect((await post('{', { cookie: '' })).status).toBe(401)
    expect((await post('{', { 'tollgate-console': '' })).status).toBe(403)
  })

  it('answers 400 to what is no call, and asks for no token', async () => {
    const { post, asked } = open()
    const proto = '{"__proto__":{"api":"x"},"api":"ledger-v1"}'
    const bodies = [
      '',
      '{',
      '[]',
      'null',
      proto,
      { ...CALL, path: '/../x' },
      { ...CALL, api: 'x' },
      { ...CALL, url: 'http://x' },
    ]
    for (const body of bodies) expect((await post(body)).status).toBe(400)
    expect(asked).toEqual([])
  })

  it('answers 413 to a body that is longer than any call', async () => {
    const { post } = open()
    expect((await post('x'.repeat(2 * 1_024 * 1_024 + 1))).status).toBe(413)
    expect((await post({ ...CALL, method: 'POST', body: 'x'.repeat(200_000) })).status).toBe(200)
  })

  it('asks for a token of the consumer that the person acts for', async () => {
    const { post, asked } = open()
    await post(CALL, { 'x-consumer-id': 'con_2' })
    expect(asked).toEqual(['signed-in ledger-v1 con_2'])
  })

  it('answers which consumers could subscribe', async () => {
    const { post, sent } = open({}, { kind: 'unsubscribed', consumers: ['con_1'] })
    expect(await post(CALL)).toMatchObject({ status: 200, answer: { kind: 'unsubscribed', consumers: ['con_1'] } })
    expect(sent).toEqual([])
  })

  it.each<[number, PersonToken | null]>([
    [401, null],
    [401, { kind: 'ended' }],
    [403, { kind: 'foreign' }],
    [404, { kind: 'unknown' }],
    [409, { kind: 'tooLong' }],
  ])('answers %i without a token', async (status, found) => {
    const { post, sent } = open({}, found)
    expect((await post(CALL)).status).toBe(status)
    expect(sent).toEqual([])
  })

  it('answers 429 above four calls of a person, 16 of a tenant and 32 in total', async () => {
    const gate = Promise.withResolvers<GatewayAnswer>()
    let waiting = 0
    const { post } = open({
      send() {
        waiting++
        return gate.promise
      },
    })
    const as = (session: string) => post(CALL, { cookie: `tollgate-console=${session}` })
    const running: Promise<unknown>[] = []
    const fill = async (sessions: readonly string[]): Promise<void> => {
      for (const session of sessions) running.push(as(session))
      await expect.poll(() => waiting).toBe(running.length)
    }
    await fill(['signed-in', 'signed-in', 'second', 'second'])
    expect([(await as('signed-in')).status, (await as('second')).status]).toEqual([429, 429])
    await fill(['bob', 'cid', 'dan'].flatMap((name) => [name, name, name, name]))
    expect((await as('eve')).status).toBe(429)
    await fill(['rival-1', 'rival-2', 'rival-3', 'rival-4'].flatMap((name) => [name, name, name, name]))
    expect((await as('rival-5')).status).toBe(429)
    gate.resolve(ANSWER)
    await Promise.all(running)
    expect((await as('rival-5')).status).toBe(200)
  })

  it('answers 429 to the fifth call of a person in progress, and forgets those that have ended or failed', async () => {
    const waiting: PromiseWithResolvers<GatewayAnswer>[] = []
    const { post } = open({
      send() {
        const gate = Promise.withResolvers<GatewayAnswer>()
        waiting.push(gate)
        return gate.promise
      },
    })
    const running = Array.from({ length: 4 }, () => post(CALL))
    await expect.poll(() => waiting.length).toBe(4)
    expect(await post(CALL)).toMatchObject({ status: 429, answer: { code: 'rate_limited' } })
    for (const gate of waiting.slice(0, 3)) gate.resolve(ANSWER)
    waiting[3]!.reject(new Error('gone'))
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200, 200, 500])
    const again = Array.from({ length: 4 }, () => post(CALL))
    await expect.poll(() => waiting.length).toBe(8)
    for (const gate of waiting.slice(4)) gate.resolve(ANSWER)
    expect((await Promise.all(again)).every(({ status }) => status === 200)).toBe(true)
  })
})

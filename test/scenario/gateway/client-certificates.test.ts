/** Calls with credentials that are bound to a client certificate, over TLS and through the whole data plane. */

import { X509Certificate } from 'node:crypto'
import { Agent, request } from 'node:https'
import type { IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Call } from '../../../src/gateway/call/call.ts'
import type { Grant } from '../../../src/boundary/plan/grant.ts'
import type { TlsPlan } from '../../../src/foundation/tls/tls-plan.ts'
import { authority as issuer, KEY, openTestAuthenticator } from '../../fixtures/test-authenticator.ts'
import { createTestAuthority, thumbprintOf, type Certificate } from '../../fixtures/test-certificates.ts'
import { openBackend, openTestGateway } from '../../fixtures/test-gateway.ts'
import { GATEWAY_URL, GRANT } from '../../fixtures/token-authority.ts'

const API = 'things-v1'
const [authority, others] = [createTestAuthority(), createTestAuthority()]
afterAll(() => {
  others.remove()
  authority.remove()
})

const server = authority.sign('gw.example.test')
const [shop, bank] = ['shop', 'bank'].map((name) => authority.signFor('clientAuth', name)) as [Certificate, Certificate]
const stranger = others.signFor('clientAuth', 'shop')

const TLS: TlsPlan = {
  fallback: { names: ['gw.example.test'], cert: server.cert.toString(), key: server.key.toString() },
  others: [],
  clientCa: authority.cert.toString(),
  ticketKeys: Buffer.alloc(48, 1),
}
const responses = { 200: { description: 'ok' } }
const PATHS = {
  '/things': { get: { operationId: 'things', responses } },
  '/strict': { get: { operationId: 'strict', 'x-tollgate-client-certificate': 'required', responses } },
  '/public': { get: { operationId: 'public', security: [], responses } },
}
const ROOT = {
  components: {
    securitySchemes: {
      key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
      bearer: { type: 'http', scheme: 'bearer' },
    },
  },
  ...{ security: [{ bearer: [] }, { key: [] }], 'x-tollgate-mcp': true },
}

interface Asked {
  readonly path?: string
  readonly token?: string
  readonly key?: string
  /** Sent as a message over MCP. */
  readonly message?: object
}

interface Answer {
  readonly status: number
  readonly code: string | undefined
  readonly detail: string | undefined
  readonly challenge: string | undefined
  readonly body: string
  readonly isResumed: boolean
}

interface OpenOptions {
  readonly grant?: Partial<Grant>
  readonly nowMs?: () => number
  readonly root?: object
  readonly paths?: object
}

async function openGateway({ grant = {}, nowMs = Date.now, root = {}, paths = PATHS }: OpenOptions = {}) {
  const served: IncomingHttpHeaders[] = []
  const origin = await openBackend((incoming, response) => {
    served.push(incoming.headers)
    response.end('{}')
  })
  const found = { ...GRANT, api: API, scopes: [], ...grant }
  const used: string[] = []
  const onUse = (id: string): void => void used.push(id)
  const authenticator = openTestAuthenticator(async ({ kind }) => ({ ...found, credential: kind }), { onUse })
  const unknown: string[] = []
  const reportOperation = (call: Call): void => void unknown.push(call.request.url ?? '')
  const gateway = await openTestGateway({
    backend: { origin },
    paths,
    root: { ...ROOT, ...root },
    server: { tls: TLS },
    authenticator,
    handle: { nowMs, drift: { checkHead: () => null, reportOperation } },
  })

  /** A client with connections of its own, which resume each other's session. */
  function connect(certificate: Certificate | null, keepAlive = true) {
    const agent = new Agent({ ...certificate, keepAlive, maxSockets: 1 })
    onTestFinished(() => agent.destroy())
    return (asked: Asked) => ask(agent, gateway.port, asked)
  }
  return { ...gateway, authenticator, served, unknown, used, connect }
}

async function ask(agent: Agent, port: number, { path = '/things', token, key, message }: Asked): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const sent = request(
    {
      agent,
      port,
      host: '127.0.0.1',
      servername: 'gw.example.test',
      method: message === undefined ? 'GET' : 'POST',
      path: `/${API}${message === undefined ? path : '/mcp'}`,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(key !== undefined && { 'x-api-key': key }),
        ...(message !== undefined && { 'content-type': 'application/json', accept: 'application/json' }),
      },
    },
    async (response) => {
      const isResumed = (response.socket as TLSSocket).isSessionReused()
      const body = await text(response)
      const { code, detail } = (body.startsWith('{') ? JSON.parse(body) : {}) as Record<string, string>
      const { statusCode: status = 0, headers } = response
      resolve({ status, code, detail, challenge: headers['www-authenticate'], body, isResumed })
    },
  )
  sent.on('error', reject)
  sent.end(message === undefined ? undefined : JSON.stringify(message))
  return promise
}

function tokenFor(certificate: Certificate | null, claims: object = {}): string {
  const cnf = certificate === null ? {} : { cnf: { 'x5t#S256': thumbprintOf(certificate) } }
  return issuer.token({ iss: `${GATEWAY_URL}/${API}`, aud: API, scope: '', ...cnf, ...claims })
}

const NONE = 'The credential is bound to a client certificate, and the connection has none that verifies.'
const ANOTHER = 'The credential is bound to another client certificate.'
const refused = (detail: string) => ({
  status: 401,
  code: 'credential_invalid',
  detail,
  challenge: expect.stringContaining('Bearer error="invalid_token"'),
})

const UNPROVEN: readonly (readonly [string, Certificate | null, string])[] = [
  ['another certificate of the authority', bank, ANOTHER],
  ['a certificate of another authority', stranger, NONE],
  ['no certificate', null, NONE],
]

describe.each([
  ['token', {}, { token: tokenFor(shop) }],
  ['key', { certificateThumbprint: thumbprintOf(shop) }, { key: KEY }],
  ['token of a bound client', { certificateThumbprint: thumbprintOf(shop) }, { token: tokenFor(null) }],
] as const)('a bound %s', (_name, grant, credential) => {
  it('is accepted over its certificate, also at an operation that requires one', async () => {
    const { connect, recorded, served } = await openGateway({ grant })
    const send = connect(shop)
    for (const path of ['/things', '/strict', '/public']) {
      expect(await send({ ...credential, path })).toMatchObject({ status: 200 })
    }
    expect(served).toHaveLength(3)
    expect(await recorded(3)).toMatchObject([{ subscription: 'sub_1' }, {}, {}])
  })

  it.each(UNPROVEN)('is refused over %s, whatever was called before', async (_case, certificate, detail) => {
    const { connect, recorded, served } = await openGateway({ grant })
    const [right, wrong] = [connect(shop), connect(certificate)]
    for (let round = 0; round < 2; round++) {
      expect(await wrong(credential)).toMatchObject(refused(detail))
      expect(await wrong({ ...credential, path: '/public' })).toMatchObject(refused(detail))
      expect(await right(credential)).toMatchObject({ status: 200 })
    }
    expect(served).toHaveLength(2)
    const records = await recorded(6)
    expect(records.filter(({ outcome }) => outcome === 'credential_invalid')).toHaveLength(4)
    expect(records.every(({ subscription }) => subscription === 'sub_1')).toBe(true)
  })

  it.each([['its certificate', shop, null] as const, ...UNPROVEN])(
    'is judged over resumed sessions as before, with %s',
    async (_case, certificate, detail) => {
      const { connect } = await openGateway({ grant })
      const send = connect(certificate, false)
      const expected = detail === null ? { status: 200 } : refused(detail)
      expect(await send(credential)).toMatchObject({ ...expected, isResumed: false })
      expect(await send(credential)).toMatchObject({ ...expected, isResumed: true })
    },
  )

  it('is used only by calls over its certificate, also over MCP', async () => {
    const { connect, used } = await openGateway({ grant: { certificateThumbprint: thumbprintOf(shop) } })
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    for (const certificate of [null, bank, shop])
      for (const asked of [{ key: KEY }, { key: KEY, message }]) await connect(certificate)(asked)
    expect(used).toEqual(['key', 'key'])
  })

  it('is refused once its certificate has expired, also over an open connection', async () => {
    const endsMs = new X509Certificate(shop.cert).validToDate.getTime()
    let nowMs = endsMs
    const { connect } = await openGateway({ grant, nowMs: () => nowMs })
    const send = connect(shop)
    expect(await send(credential)).toMatchObject({ status: 200 })
    nowMs = endsMs + 1
    const detail = 'The client certificate of the connection has expired, or is not valid yet.'
    expect(await send(credential)).toMatchObject(refused(detail))
  })

  it.each(UNPROVEN)('calls no tool and lists none over %s', async (_case, certificate, detail) => {
    const { connect, served } = await openGateway({ grant })
    const [right, wrong] = [connect(shop), connect(certificate)]
    for (const method of ['tools/list', 'tools/call']) {
      const message = { jsonrpc: '2.0', id: 1, method, params: { name: 'strict', arguments: {} } }
      expect(await wrong({ ...credential, message })).toMatchObject(refused(detail))
      expect(await right({ ...credential, message })).toMatchObject({ status: 200 })
    }
    expect(served).toHaveLength(1)
  })

  it('does not report operations that the document lacks without its certificate', async () => {
    const { connect, unknown } = await openGateway({ grant })
    await connect(bank)({ ...credential, path: '/stolen' })
    await connect(shop)({ ...credential, path: '/lacking' })
    expect(unknown).toEqual([`/${API}/lacking`])
  })
})

describe('an operation that requires a client certificate', () => {
  const UNBOUND = 'The operation requires a credential that is bound to the client certificate.'
  const WITHOUT = 'The operation requires a client certificate, and the connection has none that verifies.'

  it.each([
    ['an unbound token', { token: tokenFor(null) }],
    ['an unbound key', { key: KEY }],
    ['both, unbound', { token: tokenFor(null), key: KEY }],
    ['a bound token beside an unbound key', { token: tokenFor(shop), key: KEY }],
  ])('refuses %s', async (_name, credential) => {
    const { connect, served } = await openGateway()
    expect(await connect(shop)({ ...credential, path: '/strict' })).toMatchObject(refused(UNBOUND))
    expect(await connect(null)({ ...credential, path: '/strict' })).toMatchObject(refused(WITHOUT))
    expect(await connect(stranger)({ ...credential, path: '/strict' })).toMatchObject(refused(WITHOUT))
    expect(served).toEqual([])
    expect(await connect(shop)({ ...credential })).toMatchObject({ status: 200 })
  })

  it('refuses its tool to an unbound credential', async () => {
    const { connect, served } = await openGateway()
    const call = (name: string) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } })
    const answer = await connect(shop)({ key: KEY, message: call('strict') })
    expect(answer.body).toContain(UNBOUND)
    expect(served).toEqual([])
    await connect(null)({ key: KEY, message: call('things') })
    expect(served).toHaveLength(1)
  })

  it('still asks for a credential', async () => {
    const { connect } = await openGateway()
    expect(await connect(shop)({ path: '/strict' })).toMatchObject({ status: 401, code: 'credential_missing' })
  })

  it('takes the setting of the document, unless it has its own', async () => {
    const lifted = {
      '/lifted': {
        get: { operationId: 'lifted', 'x-tollgate-client-certificate': 'not-required', responses },
      },
    }
    const paths = { '/things': PATHS['/things'], ...lifted }
    const { connect } = await openGateway({ root: { 'x-tollgate-client-certificate': 'required' }, paths })
    expect(await connect(shop)({ key: KEY })).toMatchObject(refused(UNBOUND))
    expect(await connect(null)({ key: KEY, path: '/lifted' })).toMatchObject({ status: 200 })
  })
})

describe('a token and a key in one call', () => {
  it('must both be bound to the certificate of the connection', async () => {
    const { connect } = await openGateway({ grant: { certificateThumbprint: thumbprintOf(shop) } })
    expect(await connect(shop)({ token: tokenFor(shop), key: KEY, path: '/strict' })).toMatchObject({ status: 200 })
    expect(await connect(bank)({ token: tokenFor(bank), key: KEY })).toMatchObject(refused(ANOTHER))
  })
})

describe('a changed binding', () => {
  it('applies to the next call with a token or a key that was accepted before', async () => {
    const { connect, authenticator } = await openGateway()
    const [byShop, byBank] = [connect(shop), connect(bank)]
    const credentials = [{ token: tokenFor(null) }, { key: KEY }]
    for (const credential of credentials) expect(await byBank(credential)).toMatchObject({ status: 200 })
    const changed = { ...GRANT, api: API, scopes: [], certificateThumbprint: thumbprintOf(shop), version: 4 }
    for (const credential of ['client', 'key']) authenticator.applyGrant({ ...changed, credential })
    for (const credential of credentials) {
      expect(await byBank(credential)).toMatchObject(refused(ANOTHER))
      expect(await byShop(credential)).toMatchObject({ status: 200 })
    }
    expect(await byBank({ token: tokenFor(bank) })).toMatchObject(refused(ANOTHER))
    expect(await byShop({ token: tokenFor(bank) })).toMatchObject(refused(ANOTHER))
  })
})

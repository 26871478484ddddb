/** Pages of other origins use the whole service in a real browser: an API, its tokens, the platform API, and changes of the policy. */

// @module-tag chromium

import { createServer } from 'node:http'
import type { Browser, Page } from 'playwright-core'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { workerBrowser } from './console-visit.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Enrolled, type Service, TWO_THREADS } from './service.ts'
import { listen } from './things-api.ts'

const API = 'ledger-v1'
const OTHER_API = 'journal-v1'
const MINUTE = 60_000
const pages = [createServer(answerPage), createServer(answerPage)] as const
let app = ''
let evil = ''
let service: Service
let backend: LedgerBackend
let browser: Browser
let caller: Enrolled

function answerPage(_: unknown, response: { end(body: string): unknown }): void {
  response.end('<!doctype html><title>page</title>')
}

beforeAll(async () => {
  const [one, other] = await Promise.all(pages.map(listen))
  app = one!
  evil = other!
  backend = await startLedgerBackend()
  browser = await workerBrowser()
  service = await createService({ args: ['--empty'], env: { ...TWO_THREADS, REQUEST_LOG: 'all', CORS_ORIGINS: app } })
  await service.start()
  const document = { ...ledgerDocument(), 'x-tollgate-cors': { origins: [app], maxAge: 0 } }
  await publish(service, API, document, backend.url)
  const info = { title: 'Journal', version: '1.0.0' }
  await publish(service, OTHER_API, { ...ledgerDocument(), info, security: [] }, backend.url)
  caller = await enrol(service, API)
}, MINUTE)

afterAll(async () => {
  await Promise.all([service.remove(), backend.close()])
  for (const server of pages) server.close()
})

async function openPage(origin: string): Promise<Page> {
  const context = await browser.newContext()
  onTestFinished(() => context.close())
  const page = await context.newPage()
  await page.goto(origin)
  return page
}

interface Sending {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
  readonly credentials?: 'include'
}

interface Fetched {
  readonly status: number
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/** Sends a request from a page; null if the browser does not let the page read the response. */
const fetchFrom = (page: Page, url: string, init: Sending = {}): Promise<Fetched | null> =>
  page.evaluate(
    async ([address, options]) => {
      try {
        const response = await fetch(address, options)
        const headers = Object.fromEntries(response.headers)
        return { status: response.status, body: await response.text(), headers }
      } catch {
        return null
      }
    },
    [url, init] as const,
  )

const entries = (): string => `${service.gatewayUrl}/${API}/entries`
const setPolicy = (cors: object | null) => service.platform.put(`/v1/apis/${API}/policy`, { cors })
const form = (fields: Readonly<Record<string, string>>): Sending => ({
  method: 'POST',
  body: new URLSearchParams(fields).toString(),
  headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
})

it('Preflight requests are counted, and neither recorded nor billed', async () => {
  const metric = async (): Promise<number> => {
    const { body } = await request(`${service.baseUrl}/metrics`)
    return Number(/^tollgate_events_total\{.*reason="preflight_answered".*\} (\d+)$/m.exec(await body.text())?.[1] ?? 0)
  }
  for (let count = 0; count < 5; count++) {
    const headers = { origin: app, 'access-control-request-method': 'GET' }
    const { statusCode, body } = await request(entries(), { method: 'OPTIONS', headers })
    await body.dump()
    expect(statusCode).toBe(204)
  }
  await request(entries(), { headers: { 'x-api-key': caller.apiKey } }).then(({ body }) => body.dump())
  await expect.poll(metric).toBe(5)
  const recorded = async () => {
    const { items } = await service.platform.get<{ items: readonly { operation: string }[] }>(`/v1/requests?api=${API}`)
    return items.map(({ operation }) => operation)
  }
  await expect.poll(recorded).toEqual(['listEntries'])
})

describe('a page of an allowed origin', () => {
  it('calls the API with a key, and reads the headers of the gateway and refusals', async () => {
    const page = await openPage(app)
    const got = await fetchFrom(page, `${entries()}?n=page`, { headers: { 'x-api-key': caller.apiKey } })
    expect(got).toMatchObject({ status: 200, body: '{"answer":"ok","n":"page"}' })
    expect(got?.headers['x-request-id']).toMatch(/^[0-9a-f]{24}$/)
    expect(backend.last()['origin']).toBe(app)
    const refused = await fetchFrom(page, entries(), { headers: { 'x-api-key': 'unknown' } })
    expect([refused?.status, JSON.parse(refused?.body ?? '{}')]).toMatchObject([401, { code: 'credential_invalid' }])
    expect(await fetchFrom(page, entries())).toMatchObject({ status: 401 })
  })

  it('gets a token of the API, revokes it, and reads the discovery document', async () => {
    const page = await openPage(app)
    const oauth = `${service.gatewayUrl}/${API}/oauth2/v2`
    const client = { client_id: caller.clientId, client_secret: caller.clientSecret }
    const issued = await fetchFrom(page, `${oauth}/token`, form({ ...client, grant_type: 'client_credentials' }))
    expect(issued?.status).toBe(200)
    const { access_token: token } = JSON.parse(issued?.body ?? '{}') as { access_token: string }
    const authorization = `Bearer ${token}`
    expect(await fetchFrom(page, entries(), { headers: { authorization } })).toMatchObject({ status: 200 })
    expect(await fetchFrom(page, `${oauth}/revoke`, form({ ...client, token }))).toMatchObject({ status: 200 })
    expect(await fetchFrom(page, entries(), { headers: { authorization } })).toMatchObject({ status: 401 })
    expect(await fetchFrom(page, `${oauth}/introspect`, form({ ...client, token }))).toBe(null)
    const discovery = `${service.gatewayUrl}/${API}/.well-known/openid-configuration`
    expect(await fetchFrom(page, discovery, { headers: { 'mcp-protocol-version': '1' } })).toMatchObject({
      status: 200,
    })
  })

  it('calls the platform API, but not the console and not the metrics', async () => {
    const page = await openPage(app)
    const { clientId, clientSecret } = { clientId: 'journey-admin', clientSecret: 'journey-admin-secret-0123456789' }
    const fields = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
    const issued = await fetchFrom(page, `${service.gatewayUrl}/platform-v1/oauth2/v2/token`, form(fields))
    const { access_token: token } = JSON.parse(issued?.body ?? '{}') as { access_token: string }
    const headers = { authorization: `Bearer ${token}` }
    const apis = await fetchFrom(page, `${service.baseUrl}/v1/apis`, { headers })
    expect(apis).toMatchObject({ status: 200 })
    expect(apis?.headers['etag']).toBeDefined()
    expect(await fetchFrom(page, `${service.baseUrl}/v1/nothing`, { headers })).toBe(null)
    expect(await fetchFrom(page, `${service.baseUrl}/metrics`)).toBe(null)
    const own = { 'tollgate-console': '1' }
    for (const path of ['/console/api/v1/apis', '/console/sign-out', '/console']) {
      expect(await fetchFrom(page, service.baseUrl + path, { headers: own, credentials: 'include' })).toBe(null)
      expect(await fetchFrom(page, service.baseUrl + path, { headers })).toBe(null)
    }
    // Without `Access-Control-Allow-Credentials`, a browser refuses the response to a request with cookies.
    expect(await fetchFrom(page, `${service.baseUrl}/v1/apis`, { headers, credentials: 'include' })).toBe(null)
  })

  it('does not reach an API without a setting', async () => {
    const page = await openPage(app)
    expect(await fetchFrom(page, `${service.gatewayUrl}/${OTHER_API}/entries`)).toBe(null)
    expect(await fetchFrom(page, `${service.gatewayUrl}/${OTHER_API}/oauth2/v2/token`, form({}))).toBe(null)
  })
})

describe('a page of another origin', () => {
  it('reads nothing, and its calls that need a preflight request do not reach the backend', async () => {
    const page = await openPage(evil)
    const headers = { 'x-api-key': caller.apiKey }
    expect(await fetchFrom(page, `${entries()}?n=evil`, { headers })).toBe(null)
    expect(backend.seen.get('evil')).toBeUndefined()
    expect(await fetchFrom(page, entries())).toBe(null)
    expect(await fetchFrom(page, `${service.gatewayUrl}/${API}/oauth2/v2/token`, form({}))).toBe(null)
    expect(await fetchFrom(page, `${service.baseUrl}/v1/apis`)).toBe(null)
  })

  it('includes a sandboxed page, whose origin is null', async () => {
    const page = await openPage(app)
    await page.setContent(`<iframe sandbox="allow-scripts" srcdoc="<title>sandboxed</title>"></iframe>`)
    const frame = page.frames().find((each) => each !== page.mainFrame())!
    await frame.waitForLoadState()
    const outcome: unknown = await frame.evaluate(
      `fetch(${JSON.stringify(entries())}).then(({ status }) => status, () => 'refused').then((text) => \`\${self.origin} \${text}\`)`,
    )
    expect(outcome).toBe('null refused')
  })
})

describe('the policy of the API', () => {
  /** Asks on as many new connections as reach every gateway thread. */
  async function allowedOrigins(origin: string): Promise<readonly unknown[]> {
    const ask = async () => {
      const dispatcher = new Agent({ pipelining: 0 })
      const headers = { origin, 'access-control-request-method': 'GET' }
      const { headers: answered, body } = await request(entries(), { method: 'OPTIONS', headers, dispatcher })
      await body.dump()
      await dispatcher.close()
      return answered['access-control-allow-origin']
    }
    return [...new Set(await Promise.all(Array.from({ length: 20 }, ask)))]
  }

  it('overrides the document on every thread before the command is answered, and leaves it to the document again', async () => {
    await setPolicy({ origins: [evil] })
    expect([await allowedOrigins(app), await allowedOrigins(evil)]).toEqual([[undefined], [evil]])
    await setPolicy({ origins: [] })
    expect([await allowedOrigins(app), await allowedOrigins(evil)]).toEqual([[undefined], [undefined]])
    const page = await openPage(app)
    const headers = { 'x-api-key': caller.apiKey }
    expect(await fetchFrom(page, entries(), { headers })).toBe(null)
    await setPolicy(null)
    expect([await allowedOrigins(app), await allowedOrigins(evil)]).toEqual([[app], [undefined]])
    expect(await fetchFrom(page, entries(), { headers })).toMatchObject({ status: 200 })
  })

  it('is refused if it is invalid, and for the API of the platform', async () => {
    await expect(setPolicy({ origins: '*', credentials: true })).rejects.toThrow(/400|origins in this form/)
    const ofPlatform = service.platform.put('/v1/apis/platform-v1/policy', { cors: { origins: [evil] } })
    await expect(ofPlatform).rejects.toThrow(/400|origins in this form/)
    expect(await allowedOrigins(evil)).toEqual([undefined])
  })

  it('survives a restart, after which the API sleeps until the first request', async () => {
    await setPolicy({ origins: [evil] })
    await service.stop()
    await service.start()
    expect([await allowedOrigins(evil), await allowedOrigins(app)]).toEqual([[evil], [undefined]])
    await setPolicy(null)
  })
})

/** The gateway sends a backend only headers and bodies that no backend can read differently. */

import { describe, expect, it } from 'vitest'
import { LOOP_NAME, openBackend, openTestGateway, PATHS } from '../../fixtures/test-gateway.ts'

const open = (headers = '', version = '1.1') => `GET /things-v1/open HTTP/${version}\r\nHost: a\r\n${headers}\r\n`
const CLOSE = 'Connection: close\r\n'
const statusesIn = (text: string): string[] => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status!)

/** Opens a backend that returns the request that it received. */
async function openEcho() {
  return openBackend((incoming, response) => {
    let body = ''
    incoming.on('data', (chunk) => (body += chunk))
    incoming.on('end', () =>
      response.end(JSON.stringify({ headers: incoming.headers, raw: incoming.rawHeaders, body })),
    )
  })
}

describe('a request to a backend', () => {
  async function echoed(text: string, options: { paths?: object; root?: object } = {}) {
    const gateway = await openTestGateway({ backend: { origin: await openEcho() }, ...options })
    const answer = await gateway.raw(text)
    const json = answer.slice(answer.indexOf('\r\n\r\n') + 4)
    return { answer, gateway, ...(JSON.parse(json) as { headers: Record<string, string>; body: string }) }
  }

  it('contains no header that becomes a reserved one if underscores are read as dashes', async () => {
    const names = [
      'Content_Length',
      'content_type',
      'Content_Encoding',
      'Transfer_Encoding',
      'X_Consumer_Id',
      'X-Consumer_Id',
    ]
    names.push(
      'Host_',
      'HOST',
      'X_HTTP_Method_Override',
      'X_Forwarded_For',
      'Authorization_',
      'x_api_key',
      'X_RU_Limit',
      'CDN_Loop',
      'Proxy_Authorization',
    )
    const sent = names.filter((name) => name !== 'HOST').map((name) => `${name}: 1\r\n`)
    const { headers } = await echoed(open(sent.join('') + 'X_Mine: kept\r\n' + CLOSE))
    expect(Object.keys(headers).filter((name) => name.includes('_'))).toEqual(['host_', 'authorization_', 'x_mine'])
  })

  it('contains no cookie of this service', async () => {
    const cookies = 'a=1; __Host-tollgate-console=secret; tollgate-browser=secret; b=2'
    const { headers, answer } = await echoed(open(`Cookie: ${cookies}\r\n${CLOSE}`))
    expect(headers['cookie']).toBe('a=1; b=2')
    expect(answer).not.toContain('secret')
    const { headers: none } = await echoed(open(`Cookie: tollgate-device=secret\r\n${CLOSE}`))
    expect(none['cookie']).toBeUndefined()
  })

  it('keeps the validated headers even if Connection names them', async () => {
    const paths = {
      '/open': {
        post: {
          operationId: 'make',
          security: [],
          parameters: [{ name: 'X-Tenant', in: 'header', required: true, schema: { type: 'string' } }],
          requestBody: { content: { 'application/json': { schema: { type: 'object' } } } },
          responses: { 200: { description: 'ok' } },
        },
      },
    }
    const { headers } = await echoed(
      'POST /things-v1/open HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\nX-Tenant: t\r\nX-Hop: 1\r\n' +
        'Connection: close, Content-Type, Content-Length, Host, X-Tenant, X-Hop\r\n\r\n{}',
      { paths },
    )
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'content-length': '2', 'x-tenant': 't' })
    expect(headers['x-hop']).toBeUndefined()
    expect(headers['host']).toBeDefined()
  })

  it.each(['From', 'User-Agent', 'Referer', 'Max-Forwards', 'If-Modified-Since', 'Age', 'ETag', 'Location', 'X-Other'])(
    'does not contain a second %s that the operation would not accept',
    async (name) => {
      const paths = {
        '/open': {
          get: {
            operationId: 'open',
            security: [],
            parameters: [{ name, in: 'header', schema: { type: 'string', maxLength: 3 } }],
            responses: { 200: { description: 'ok' } },
          },
        },
      }
      const gateway = await openTestGateway({ backend: { origin: await openEcho() }, paths })
      expect(await gateway.raw(open(`${name}: one\r\n${CLOSE}`))).toMatch(/^HTTP\/1.1 200 /)
      const twice = await gateway.raw(open(`${name}: one\r\n${name}: too long\r\n${CLOSE}`))
      expect(twice).toMatch(/^HTTP\/1.1 400 [^]*payload_invalid/)
    },
  )

  const OVERRIDES = ['X-HTTP-Method-Override', 'X-Method-Override', 'X-HTTP-Method', 'X-Original-URL', 'X-Rewrite-URL']
  const overriding = open(OVERRIDES.map((name) => `${name}: DELETE\r\n`).join('') + CLOSE)

  it('contains no overrides of the method or the path', async () => {
    const { headers } = await echoed(overriding)
    expect(OVERRIDES.filter((name) => name.toLowerCase() in headers)).toEqual([])
  })

  it('contains the overrides that x-tollgate-pass-headers lists, for the document or for an operation', async () => {
    const document = await echoed(overriding, { root: { 'x-tollgate-pass-headers': ['X-HTTP-Method-Override'] } })
    expect(OVERRIDES.filter((name) => name.toLowerCase() in document.headers)).toEqual(['X-HTTP-Method-Override'])
    const get = { ...PATHS['/open'].get, 'x-tollgate-pass-headers': ['x-original-url'] }
    const operation = await echoed(overriding, { paths: { '/open': { get } } })
    expect(OVERRIDES.filter((name) => name.toLowerCase() in operation.headers)).toEqual(['X-Original-URL'])
  })

  it.each(['GET', 'OPTIONS'])(
    'has no body if it is a %s that declares none; the drop is counted, and the connection stays usable',
    async (method) => {
      const paths = { '/open': { [method.toLowerCase()]: PATHS['/open'].get } }
      const bodied = `${method} /things-v1/open HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello`
      const gateway = await openTestGateway({ backend: { origin: await openEcho() }, paths })
      const text = await gateway.raw(bodied + bodied.replace('Host', `${CLOSE}Host`))
      expect(statusesIn(text)).toEqual(['200', '200'])
      expect(text).toContain('"body":""')
      expect(text).not.toContain('"content-length"')
      expect(gateway.counts.get('body_dropped')).toBe(2)
    },
  )

  it('has a body only if the body parses as JSON, even for the schema {}', async () => {
    const paths = {
      '/open': {
        post: {
          operationId: 'make',
          security: [],
          requestBody: { content: { 'application/json': { schema: {} } } },
          responses: { 200: { description: 'ok' } },
        },
      },
    }
    const gateway = await openTestGateway({ backend: { origin: await openEcho() }, paths })
    const send = (body: string) =>
      gateway.raw(
        `POST /things-v1/open HTTP/1.1\r\nHost: a\r\n${CLOSE}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
    expect(await send('{"a":')).toMatch(/^HTTP\/1.1 400 [^]*payload_invalid/)
    expect(await send('[1]')).toMatch(/^HTTP\/1.1 200 /)
  })

  it('names the gateway last in Via and CDN-Loop', async () => {
    const { headers } = await echoed(open(`Via: 1.0 fred\r\nCDN-Loop: other\r\n${CLOSE}`))
    expect(headers).toMatchObject({ via: `1.0 fred, 1.1 ${LOOP_NAME}`, 'cdn-loop': `other, ${LOOP_NAME}` })
  })

  it.each([`Via: 1.1 ${LOOP_NAME}`, `Via: 1.0 fred\r\nVia: 1.1 ${LOOP_NAME}`, `CDN-Loop: other, ${LOOP_NAME}`])(
    'is not sent for a call that has passed through the gateway before, which gets 508 (%s)',
    async (header) => {
      const gateway = await openTestGateway({ backend: { origin: await openEcho() } })
      expect(await gateway.raw(open(`${header}\r\n${CLOSE}`))).toMatch(/^HTTP\/1.1 508 [^]*loop_detected/)
      expect(gateway.records).toMatchObject([{ outcome: 'loop_detected', status: 508 }])
    },
  )
})

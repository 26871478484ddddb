import { expect, it } from 'vitest'
import { createRequestRules, createResponseRules, PASS } from '../../../../src/gateway/headers/header-rules.ts'
import { refuseHeaderName, type HeaderUse } from '../../../../src/boundary/plan/header-names.ts'

const USES: readonly HeaderUse[] = ['secret', 'request', 'response']
const REQUEST =
  'connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer trailers transfer-encoding upgrade ' +
  'http2-settings host expect content-type content-length x-http-method-override x-method-override x-http-method ' +
  'x-original-url x-rewrite-url access-control-request-method origin via cdn-loop forwarded x-forwarded-for x-forwarded-host ' +
  'x-forwarded-proto x-forwarded-port x-forwarded-prefix x-forwarded-server x-real-ip x-consumer-id x-subscription-id x-agent-id ' +
  'x-on-behalf-of x-request-id client-cert client-cert-chain traceparent tracestate'
const RESPONSE =
  'connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade date ' +
  'content-length content-type content-encoding ratelimit ratelimit-policy x-request-id x-ru-limit x-ru-remaining x-ru-cost ' +
  'x-ru-consumed x-ru-period'
const CORS = 'access-control-allow-origin access-control-expose-headers'

it.each(REQUEST.split(' '))('refuses %s for requests, however it is spelled', (name) => {
  for (const use of ['secret', 'request'] as const) {
    for (const spelling of [name, name.toUpperCase(), name.replaceAll('-', '_')])
      expect(refuseHeaderName(spelling, use)).toContain('controls')
  }
  // The list above has what the gateway treats in a way of its own.
  expect(createRequestRules().of(name)).not.toBe(PASS)
})

it.each([...RESPONSE.split(' '), ...CORS.split(' ')])('refuses %s for responses, however it is spelled', (name) => {
  for (const spelling of [name, name.toUpperCase(), name.replaceAll('-', '_')])
    expect(refuseHeaderName(spelling, 'response')).toContain('controls')
  expect(createResponseRules().withCors.of(name)).not.toBe(PASS)
})

it.each([
  'RateLimit-Limit',
  'ratelimit_reset',
  'www-authenticate',
  'retry-after',
  'deprecation',
  'sunset',
  'Content-Range',
  'sec-websocket-accept',
])('refuses %s for responses', (name) => expect(refuseHeaderName(name, 'response')).toContain('controls'))

it('refuses what would change how a body is counted or a WebSocket is opened', () => {
  for (const name of ['accept-encoding', 'sec-websocket-key', 'content-location', 'content-encoding'])
    for (const use of ['secret', 'request'] as const) expect(refuseHeaderName(name, use)).toContain('controls')
})

it.each(['Authorization', 'X-Api-Key', 'x_api_key'])('allows %s as a secret only', (name) => {
  expect(refuseHeaderName(name, 'secret')).toBeNull()
  expect(refuseHeaderName(name, 'request')).toContain('secretHeaders')
})

it.each(['X-Tenant', 'Cookie', 'User-Agent', 'Accept', 'baggage', '__proto__', 'constructor'])('allows %s', (name) => {
  for (const use of USES) expect(refuseHeaderName(name, use)).toBeNull()
})

it.each([
  'X-RateLimit-Limit',
  'Content-Security-Policy',
  'content-disposition',
  'Server',
  'Set-Cookie',
  'Cache-Control',
  'Vary',
])('allows %s in responses', (name) => expect(refuseHeaderName(name, 'response')).toBeNull())

import { expect, it } from 'vitest'
import { openBackend, openTestGateway } from '../../../fixtures/test-gateway.ts'

/** Sends a line and `X-Other: kept`; returns the names and values that the backend receives. */
async function received(line: string): Promise<readonly string[]> {
  const headers: string[] = []
  const origin = await openBackend((incoming, response) => {
    headers.push(...incoming.rawHeaders)
    response.end()
  })
  const { raw } = await openTestGateway({ backend: { origin } })
  const sent = `${line}\r\nX-Other: kept\r\nConnection: close`
  expect(await raw(`GET /things-v1/open HTTP/1.1\r\nHost: a\r\n${sent}\r\n\r\n`)).toContain('HTTP/1.1 200')
  expect(headers).toContain('kept')
  return headers
}

it.each(['Client-Cert', 'client-cert-chain', 'CLIENT_CERT', 'Client-Cert_Chain', 'Client.Cert'])(
  'A backend never receives %s, in which a client could claim a certificate (RFC 9440)',
  async (name) => {
    expect(await received(`${name}: :Zm9yZ2Vk:`)).not.toContain(':Zm9yZ2Vk:')
  },
)

it.each(['X-Forwarded-User', 'x-forwarded-EMAIL', 'X-Forwarded-Client-Cert', 'X_Forwarded_User', 'X-Forwarded.Groups'])(
  'A backend never receives %s, which proxies before it may set and which it may believe',
  async (name) => {
    const headers = await received(`${name}: root`)
    expect(headers).not.toContain('root')
    expect(headers.filter((each) => each.toLowerCase() === 'x-forwarded-for')).toHaveLength(1)
  },
)

it.each(['X-Forwarding', 'my.header', 'x_other_name'])(
  'A backend receives %s, which is not one of them',
  async (name) => {
    expect(await received(`${name}: this`)).toContain('this')
  },
)

import { expect, it } from 'vitest'
import { openBackend, openTestGateway } from '../../../fixtures/test-gateway.ts'

it.each(['Client-Cert', 'client-cert-chain', 'CLIENT_CERT', 'Client-Cert_Chain'])(
  'A backend never receives %s, in which a client could claim a certificate (RFC 9440)',
  async (name) => {
    const received: string[] = []
    const origin = await openBackend((incoming, response) => {
      received.push(...incoming.rawHeaders)
      response.end()
    })
    const { raw } = await openTestGateway({ backend: { origin } })
    const sent = `${name}: :Zm9yZ2Vk:\r\nX-Other: kept\r\nConnection: close`
    expect(await raw(`GET /things-v1/open HTTP/1.1\r\nHost: a\r\n${sent}\r\n\r\n`)).toContain('HTTP/1.1 200')
    expect(received).toContain('kept')
    expect(received).not.toContain(':Zm9yZ2Vk:')
  },
)

it.each(['X-Forwarded-User', 'x-forwarded-EMAIL', 'X-Forwarded-Client-Cert', 'X_Forwarded_User', 'X-Forwarded_Groups'])(
  'A backend never receives %s, which proxies before it may set and which it may believe',
  async (name) => {
    const received: string[] = []
    const origin = await openBackend((incoming, response) => {
      received.push(...incoming.rawHeaders)
      response.end()
    })
    const { raw } = await openTestGateway({ backend: { origin } })
    const sent = `${name}: root\r\nX-Forwarding: kept\r\nConnection: close`
    expect(await raw(`GET /things-v1/open HTTP/1.1\r\nHost: a\r\n${sent}\r\n\r\n`)).toContain('HTTP/1.1 200')
    expect(received).toContain('kept')
    expect(received).not.toContain('root')
    expect(received.filter((each) => each === 'X-Forwarded-For' || each === 'x-forwarded-for')).toHaveLength(1)
  },
)

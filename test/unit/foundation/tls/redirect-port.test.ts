import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { OWN_ADDRESS, ownPort } from '../../../fixtures/own-address.ts'
import { openRedirectPort } from '../../../../src/foundation/tls/redirect-port.ts'
import { received } from '../../../fixtures/test-backend.ts'

async function openPort(addresses = { gatewayUrl: 'https://gw.example.test', baseUrl: 'https://admin.example.test' }) {
  const port = await ownPort()
  await openRedirectPort({
    ...addresses,
    host: OWN_ADDRESS,
    port,
    contexts: () => ({ names: (host: string) => host.endsWith('.example.test') }),
    opened: (_, close) => onTestFinished(() => void close()),
  })
  const ask = async (path: string, host: string, method = 'GET'): Promise<string> => {
    const request = get({ port, host: OWN_ADDRESS, path, method, headers: { host }, agent: false })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    response.resume()
    return `${response.statusCode} ${response.headers.location}`
  }
  return { port, ask }
}

it.each([
  ['gw.example.test', 'https://gw.example.test/a?b=c'],
  ['gw.example.test:80', 'https://gw.example.test/a?b=c'],
  ['GW.example.test', 'https://gw.example.test/a?b=c'],
  ['api.example.test', 'https://api.example.test/a?b=c'],
  ['admin.example.test', 'https://admin.example.test/a?b=c'],
  ['evil.test', 'https://gw.example.test/a?b=c'],
  ['evil.test/x.example.test', 'https://gw.example.test/a?b=c'],
  ['user@api.example.test', 'https://gw.example.test/a?b=c'],
  ['', 'https://gw.example.test/a?b=c'],
])('redirects a request for the host "%s" to %s', async (host, location) => {
  const { ask } = await openPort()
  expect(await ask('/a?b=c', host)).toBe(`308 ${location}`)
})

it('names the port of each address', async () => {
  const { ask } = await openPort({ gatewayUrl: 'https://127.0.0.1:8443', baseUrl: 'https://admin.example.test:9443' })
  expect(await ask('/a', '127.0.0.1')).toBe('308 https://127.0.0.1:8443/a')
  expect(await ask('/a', 'admin.example.test')).toBe('308 https://admin.example.test:9443/a')
})

it('closes the connection of a request with a body, without reading it', async () => {
  const { port } = await openPort()
  const socket = connect({ port, host: OWN_ADDRESS })
  socket.write('POST /a HTTP/1.1\r\nHost: gw.example.test\r\nContent-Length: 1000000\r\n\r\nGET /b HTTP/1.1\r\n')
  const text = await received(socket)
  expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1)
  expect(text).toContain('Location: https://gw.example.test/a\r\n')
})

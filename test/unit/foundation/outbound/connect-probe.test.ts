import { createServer, type AddressInfo, type Server } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createConnectProbe } from '../../../../src/foundation/outbound/connect-probe.ts'

async function listen(): Promise<{ server: Server; url: string; accepted: () => number }> {
  let accepted = 0
  const server = createServer((socket) => {
    accepted++
    socket.on('error', () => {}).resume()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, accepted: () => accepted }
}

describe('first use: the probe of a backend', () => {
  const probe = createConnectProbe({ operator: 'default', withinMs: 500 })

  it('returns null for a backend that listens, and the reason for any other', async () => {
    const { server, url } = await listen()
    expect(await probe('default', url)).toBeNull()
    await new Promise((resolve) => server.close(resolve))
    expect(await probe('default', url)).toBe('ECONNREFUSED')
    expect(await probe('default', 'http://backend.invalid')).toMatch(/ENOTFOUND|EAI_AGAIN|no connection in time/)
  })

  it('gives up after its time limit on an address that does not respond', async () => {
    // TEST-NET-1, which never responds.
    expect(await createConnectProbe({ operator: 'default', withinMs: 50 })('default', 'http://192.0.2.1:81')).toMatch(
      /no connection in time|E[A-Z]+/,
    )
  })

  it('opens no connection for tenants other than the operator, so that they cannot scan ports', async () => {
    const { server, url, accepted } = await listen()
    expect(await probe('acme', url)).toBeNull()
    await new Promise((resolve) => server.close(resolve))
    expect(await probe('acme', url)).toBeNull()
    expect(accepted()).toBe(0)
  })
})

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  BACKEND_ADDRESS_REFUSED,
  BACKEND_CONNECTIONS_FULL,
  createBackendConnect,
} from '../../../../src/gateway/backend/backend-connect.ts'
import { createHealthProbe } from '../../../../src/gateway/backend/health-probe.ts'
import { toOutcome } from '../../../../src/gateway/backend/upstream-failure.ts'
import { createBackendGuard } from '../../../../src/foundation/outbound/backend-guard.ts'
import type { Resolve } from '../../../../src/foundation/outbound/guarded-lookup.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

async function serve(): Promise<number> {
  const server = createServer((_, response) => response.end('served'))
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

function open(addresses: () => readonly string[]) {
  const counted: string[] = []
  const resolve: Resolve = async () => addresses().map((address) => ({ address, family: 4 }))
  const guard = createBackendGuard({ own: { urls: [], ports: [] }, clock: createFakeClock(0), resolve })
  const connect = createBackendConnect({ guard, resolve, count: (reason) => void counted.push(reason) })
  const fetch = async (origin: string, mayBePrivate = false): Promise<string> => {
    const pool = new Pool(origin, { connect: connect({ origin, mayBePrivate }, { timeout: 1_000 }) })
    onTestFinished(() => pool.destroy())
    try {
      return await (await pool.request({ path: '/', method: 'GET' })).body.text()
    } catch (cause) {
      return (cause as NodeJS.ErrnoException).code ?? String(cause)
    }
  }
  return { connect, counted, fetch }
}

describe('a connection to the backend of a tenant', () => {
  it('is refused and counted if the name resolves to a private address when the connection is made', async () => {
    const port = await serve()
    const { fetch, counted } = open(() => ['127.0.0.1'])
    expect(await fetch(`http://rebound.example:${port}`)).toBe(BACKEND_ADDRESS_REFUSED)
    expect(counted).toEqual(['backend_address_refused'])
  })

  it('is refused if one of several addresses is private', async () => {
    const port = await serve()
    const { fetch } = open(() => ['93.184.216.34', '127.0.0.1'])
    expect(await fetch(`http://rebound.example:${port}`)).toBe(BACKEND_ADDRESS_REFUSED)
  })

  it('resolves the name once, so that a second DNS response has no effect', async () => {
    const port = await serve()
    let asked = 0
    const { fetch } = open(() => [++asked === 1 ? '127.0.0.1' : '93.184.216.34'])
    expect(await fetch(`http://rebound.example:${port}`)).toBe(BACKEND_ADDRESS_REFUSED)
    expect(asked).toBe(1)
  })

  it('is refused if the host in the URL is itself a private address', async () => {
    const port = await serve()
    const { fetch, counted } = open(() => [])
    expect(await fetch(`http://127.0.0.1:${port}`)).toBe(BACKEND_ADDRESS_REFUSED)
    expect(await fetch(`http://[::1]:${port}`)).toBe(BACKEND_ADDRESS_REFUSED)
    expect(counted).toHaveLength(2)
  })

  it('is made without a check if the plan allows a private address', async () => {
    const port = await serve()
    const { fetch, counted } = open(() => [])
    expect(await fetch(`http://127.0.0.1:${port}`, true)).toBe('served')
    expect(counted).toEqual([])
  })

  it('uses the bounded look-ups of names also then', async () => {
    const port = await serve()
    const { fetch } = open(() => ['127.0.0.1'])
    expect(await fetch(`http://backend.example:${port}`, true)).toBe('served')
  })
})

describe('a health probe', () => {
  it('is guarded by the same rule as calls', async () => {
    const port = await serve()
    const { connect, counted } = open(() => ['127.0.0.1'])
    const probe = createHealthProbe(connect)
    onTestFinished(probe.close)
    const plan = { origin: `http://rebound.example:${port}`, basePath: '', timeoutMs: 1_000, health: '/up' }
    expect(await probe.check({ ...plan, mayBePrivate: false })).toBe(false)
    expect(counted).toEqual(['backend_address_refused'])
    const local = { ...plan, origin: `http://127.0.0.1:${port}` }
    expect(await probe.check({ ...local, mayBePrivate: true })).toBe(true)
    expect(await probe.check({ ...local, mayBePrivate: false })).toBe(false)
  })

  it('does not crash the process if it ends before the body of the response has arrived', async () => {
    const server = createServer((_, response) => response.writeHead(200).write('the rest never comes'))
    const { promise, resolve } = Promise.withResolvers<void>()
    server.listen(0, '127.0.0.1', resolve)
    await promise
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const probe = createHealthProbe(open(() => []).connect)
    onTestFinished(probe.close)
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    // An `error` event without a listener, raised when the probe drops the body, would fail the test run.
    expect(await probe.check({ origin, basePath: '', timeoutMs: 1_000, health: '/up', mayBePrivate: true })).toBe(true)
  })
})

describe('connections to all backends together', () => {
  async function openBounded(connectionsMax: number) {
    const resolve: Resolve = async () => []
    const guard = createBackendGuard({ own: { urls: [], ports: [] }, clock: createFakeClock(0), resolve })
    const counted: string[] = []
    const count = (reason: string): unknown => counted.push(reason)
    const connect = createBackendConnect({ guard, resolve, count, connectionsMax })
    const poolOf = (port: number): Pool => {
      const origin = `http://127.0.0.1:${port}`
      const pool = new Pool(origin, { connect: connect({ origin, mayBePrivate: true }, { timeout: 1_000 }) })
      onTestFinished(() => pool.destroy())
      return pool
    }
    const fetch = async (pool: Pool): Promise<string> => {
      try {
        return await (await pool.request({ path: '/', method: 'GET' })).body.text()
      } catch (cause) {
        return (cause as NodeJS.ErrnoException).code ?? String(cause)
      }
    }
    return { poolOf, fetch, counted }
  }

  it('are refused above their bound, until one is closed', async () => {
    const { poolOf, fetch, counted } = await openBounded(1)
    const [first, second] = [poolOf(await serve()), poolOf(await serve())]
    expect(await fetch(first)).toBe('served')
    expect(await fetch(second)).toBe(BACKEND_CONNECTIONS_FULL)
    expect(toOutcome(BACKEND_CONNECTIONS_FULL)).toBe('backend_busy')
    await first.close()
    expect(await fetch(second)).toBe('served')
    expect(counted).toEqual(['backend_connections_full'])
  })

  it('do not count a connection that the backend refused', async () => {
    const { poolOf, fetch } = await openBounded(1)
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    for (let round = 0; round < 3; round++) expect(await fetch(poolOf(port))).toBe('ECONNREFUSED')
    expect(await fetch(poolOf(await serve()))).toBe('served')
  })
})

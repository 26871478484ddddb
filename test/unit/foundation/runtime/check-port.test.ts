import { createServer, type Server } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { checkPort, createHeldPorts, type HeldPorts } from '../../../../src/foundation/runtime/check-port.ts'

const HOST = '127.0.0.1'

function openHeldPorts(): HeldPorts {
  const ports = createHeldPorts()
  onTestFinished(() => ports.release())
  return ports
}

function listen(port: number, reusePort: boolean): Promise<Server> {
  const server = createServer()
  onTestFinished(() => void server.close())
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: HOST, port, reusePort }, () => resolve(server))
  })
}

describe.runIf(process.platform === 'linux')('a port that the system chose (needs SO_REUSEPORT of Linux)', () => {
  it('is taken by nothing until the service listens on it, and by the service alone afterwards', async () => {
    const ports = openHeldPorts()
    const port = await ports.hold('GATEWAY_PORT', HOST)
    expect(ports.has(port)).toBe(true)
    await expect(listen(port, false)).rejects.toThrow('EADDRINUSE')
    await expect(checkPort('GATEWAY_PORT', HOST, port)).rejects.toThrow(`GATEWAY_PORT ${port} on ${HOST} is in use`)
    // As two threads of a gateway do.
    await Promise.all([listen(port, true), listen(port, true)])
    ports.release()
    await expect(checkPort('GATEWAY_PORT', HOST, port)).rejects.toThrow('is in use')
  })

  it('differs from the others that are held', async () => {
    const ports = openHeldPorts()
    const held = await Promise.all(Array.from({ length: 200 }, () => ports.hold('RISK_PORT', HOST)))
    expect(new Set(held).size).toBe(held.length)
  })

  it('is free again after the release, if nothing listens on it', async () => {
    const ports = openHeldPorts()
    const port = await ports.hold('METRICS_PORT', HOST)
    ports.release()
    await expect.poll(() => checkPort('METRICS_PORT', HOST, port).catch(() => null)).toBe(port)
  })
})

describe('a port that the settings name', () => {
  it('is not held', async () => {
    const ports = openHeldPorts()
    const port = await checkPort('PLATFORM_PORT', HOST, 0)
    expect(ports.has(port)).toBe(false)
  })
})

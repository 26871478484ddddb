import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { freePort } from '../../../../src/interfaces/cli/free-port.ts'

/** The lowest port that Linux gives to a connection by itself. */
const EPHEMERAL_FIRST = 32_768

describe('free ports', () => {
  it('differ, can be bound, and are none that connections take', async () => {
    const ports = await Promise.all(Array.from({ length: 200 }, () => freePort()))
    expect(new Set(ports).size).toBe(ports.length)
    expect(Math.max(...ports)).toBeLessThan(EPHEMERAL_FIRST)
    const servers = await Promise.all(
      ports.map((port) => {
        const server = createServer()
        return new Promise<typeof server>((resolve, reject) => {
          server.once('error', reject)
          server.listen({ port, host: '127.0.0.1' }, () => resolve(server))
        })
      }),
    )
    const others = await Promise.all(Array.from({ length: 200 }, () => freePort()))
    expect(others.filter((port) => ports.includes(port))).toEqual([])
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  })

  it('are not looked for at an address of another machine', async () => {
    await expect(freePort('192.0.2.1')).rejects.toThrow('EADDRNOTAVAIL')
  })
})

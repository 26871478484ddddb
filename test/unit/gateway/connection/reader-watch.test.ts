import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { deliveredBytes } from '../../../../src/gateway/connection/reader-watch.ts'

describe('deliveredBytes', () => {
  it('counts the bytes that the kernel has accepted, also in the middle of a large write', async () => {
    const BYTES = 50_000_000
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const reader = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
    const [writer] = (await once(server, 'connection')) as [Socket]
    onTestFinished(() => {
      reader.destroy()
      writer.destroy()
      server.close()
    })
    writer.write(Buffer.alloc(BYTES))
    const before = deliveredBytes(writer)
    expect(before).toBeGreaterThan(0)
    expect(before).toBeLessThan(BYTES)

    reader.resume()
    await once(writer, 'drain')
    expect(deliveredBytes(writer)).toBe(BYTES)
  })
})

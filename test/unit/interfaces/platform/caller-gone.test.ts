import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { whenCallerGone } from '../../../../src/interfaces/platform/caller-gone.ts'

const server = createServer()
afterEach(() => void server.close())

describe('whenCallerGone', () => {
  it('aborts when the connection closes before the answer, and at once if it is closed already', async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const socket = connect(port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    const [, raw] = await once(server, 'request')
    const signal = whenCallerGone({ raw })
    expect(signal.aborted).toBe(false)
    socket.destroy()
    await once(signal, 'abort')
    expect(whenCallerGone({ raw }).aborted).toBe(true)
  })
})

/** A call that is refused before its body is read leaves its connection to the next call. */

import { expect, it } from 'vitest'
import { openBackend, openTestGateway, receivedUntil } from '../../fixtures/test-gateway.ts'

it.each([1, 65_535, 65_536, 65_537, 200_000])(
  'The call behind a refused upload of %i bytes is answered, on the same connection',
  async (bytes) => {
    const origin = await openBackend((_, response) => response.end('next'))
    const gateway = await openTestGateway({ backend: { origin } })
    const socket = await gateway.open()
    const refused = receivedUntil(socket, /credential_missing/)
    socket.write(`POST /things-v1/keyed HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n${'x'.repeat(bytes)}`)
    expect(await refused).toMatch(/^HTTP\/1.1 401 /)
    const answered = receivedUntil(socket, /next$/)
    socket.write('GET /things-v1/open HTTP/1.1\r\nHost: a\r\n\r\n')
    expect(await answered).toMatch(/^HTTP\/1.1 200 /)
    expect(gateway.records.map(({ outcome }) => outcome)).toEqual(['credential_missing', 'served'])
  },
)

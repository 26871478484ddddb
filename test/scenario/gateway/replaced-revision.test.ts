/** A call keeps the revision that it started with, even if that revision is replaced before the call reaches the backend. */

import { expect, it } from 'vitest'
import { openBackend, openTestGateway, receivedUntil } from '../../fixtures/test-gateway.ts'

const upload = (length: number): string =>
  `POST /things-v1/open HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\nContent-Length: ${length}\r\n\r\n`

it('returns 200 to a call whose body arrives while its revision is replaced', async () => {
  const origin = await openBackend((incoming, response) => {
    let body = ''
    incoming.on('data', (chunk) => (body += chunk))
    incoming.on('end', () => response.end(`<${body}>`))
  })
  const gateway = await openTestGateway({ backend: { origin } })
  // Opens a backend connection first, as in a revision that is in use.
  expect(await gateway.raw(`${upload(1).replace('Host', 'Connection: close\r\nHost')}x`)).toContain('<x>')

  const socket = await gateway.open()
  const answer = receivedUntil(socket, /<0123456789>/)
  socket.write(`${upload(10).replace('Host', 'Expect: 100-continue\r\nHost')}`)
  await receivedUntil(socket, /100 Continue/)
  gateway.revision.backend?.close()
  socket.write('0123456789')
  await answer

  const again = receivedUntil(socket, /<again>/)
  socket.write(`${upload(5)}again`)
  await again
  expect(gateway.records.map(({ outcome }) => outcome)).toEqual(['served', 'served', 'served'])
  expect(gateway.revision.backend?.only?.gate.hasFailed).toBe(false)
})

import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { RequestBody } from '../../../../src/gateway/forwarding/request-body.ts'
import { UploadWatch } from '../../../../src/gateway/connection/upload-watch.ts'

/** A body on its way to a backend, which takes `room` bytes before it must be drained. */
function openBody(room: number) {
  const request = new PassThrough()
  const waits: string[] = []
  const body = new RequestBody({
    request: request as unknown as IncomingMessage,
    upload: new UploadWatch().create(() => waits.push('slow')),
    onFirstRead: () => waits.push('client'),
    onBlocked: () => waits.push('backend'),
    onDrain: () => waits.push('client'),
    onSent: () => waits.push('sent'),
  })
  let pending = 0
  const sink = { writer: null, write: (chunk: Buffer) => (pending += chunk.length) < room, end: () => pending < room }
  const start = (): void => body.start(sink)
  const drain = (): void => {
    pending = 0
    body.drained()
  }
  return { request, waits, body, start, drain }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

it('reads nothing before the backend can take it', async () => {
  const { request, waits, body } = openBody(10)
  request.end('something')
  await nextTurn()
  expect(waits).toEqual([])
  expect(body.bytes).toBe(0)
})

it('waits for the backend after the client has sent all, until the backend has read the rest', async () => {
  const { request, waits, start, drain } = openBody(10)
  start()
  request.end('more than ten bytes')
  await nextTurn()
  expect(waits).toEqual(['client', 'backend'])
  drain()
  await nextTurn()
  expect(waits).toEqual(['client', 'backend', 'sent'])
})

it('is sent at once if the backend has taken all of it', async () => {
  const { request, waits, start } = openBody(10)
  start()
  request.end('a few')
  await nextTurn()
  expect(waits).toEqual(['client', 'backend', 'sent'])
})

it('is sent when the backend has read the end', async () => {
  const { request, waits, start, drain } = openBody(6)
  start()
  request.write('five!')
  await nextTurn()
  expect(waits).toEqual(['client'])
  request.end('six')
  await nextTurn()
  expect(waits).toEqual(['client', 'backend'])
  drain()
  await nextTurn()
  expect(waits.at(-1)).toBe('sent')
})

it('passes nothing on and reads nothing more once it is stopped', async () => {
  const { request, waits, body, start, drain } = openBody(10)
  start()
  request.write('more than ten bytes')
  await nextTurn()
  body.stop()
  drain()
  request.write('and more')
  await nextTurn()
  expect(waits).toEqual(['client', 'backend'])
  expect(body.bytes).toBe(19)
  expect(request.readableFlowing).toBe(false)
})

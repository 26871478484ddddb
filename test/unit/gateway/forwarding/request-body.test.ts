import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { RequestBody } from '../../../../src/gateway/forwarding/request-body.ts'
import { UploadWatch } from '../../../../src/gateway/connection/upload-watch.ts'

function openBody() {
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
  return { request, waits, body }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

it('waits for the backend after the client has sent all, until the backend has read the rest', async () => {
  const { request, waits, body } = openBody()
  body.once('readable', () => {})
  request.end('too little to hold up the client')
  await nextTurn()
  expect(waits).toEqual(['client', 'backend'])
  body.resume()
  await nextTurn()
  expect(waits).toEqual(['client', 'backend', 'sent'])
})

it('waits for the client again after the backend has read what it had blocked', async () => {
  const { request, waits, body } = openBody()
  body.once('readable', () => {})
  request.write(Buffer.alloc(body.readableHighWaterMark))
  await nextTurn()
  expect(waits).toEqual(['client', 'backend'])
  body.resume()
  await nextTurn()
  expect(waits).toEqual(['client', 'backend', 'client'])
  request.end()
  await nextTurn()
  expect(waits).toEqual(['client', 'backend', 'client', 'backend', 'sent'])
})

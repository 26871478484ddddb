/** Exactly one side is waited for while a body streams, and its clock runs. */

import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { RequestBody } from '../../../../src/gateway/forwarding/request-body.ts'
import { UploadWatch } from '../../../../src/gateway/connection/upload-watch.ts'

function openBody() {
  const request = new PassThrough()
  const turns: string[] = []
  const body = new RequestBody({
    request: request as unknown as IncomingMessage,
    upload: new UploadWatch().create(() => turns.push('slow')),
    onWanted: () => turns.push('client'),
    onBackendsTurn: () => turns.push('backend'),
    onClientsTurn: () => turns.push('client'),
    onSent: () => turns.push('sent'),
  })
  return { request, turns, body }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

it('waits for the backend when the client has sent all, and the backend has not taken what is left', async () => {
  const { request, turns, body } = openBody()
  body.once('readable', () => {})
  request.end('too little to hold up the client')
  await turn()
  expect(turns).toEqual(['client', 'backend'])
  body.resume()
  await turn()
  expect(turns).toEqual(['client', 'backend', 'sent'])
})

it('waits for the client again when the backend has taken what it was held up with', async () => {
  const { request, turns, body } = openBody()
  body.once('readable', () => {})
  request.write(Buffer.alloc(body.readableHighWaterMark))
  await turn()
  expect(turns).toEqual(['client', 'backend'])
  body.resume()
  await turn()
  expect(turns).toEqual(['client', 'backend', 'client'])
  request.end()
  await turn()
  expect(turns).toEqual(['client', 'backend', 'client', 'backend', 'sent'])
})

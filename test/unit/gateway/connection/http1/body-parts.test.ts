import { describe, expect, it } from 'vitest'
import { BodyParts } from '../../../../../src/gateway/connection/http1/body-parts.ts'
import { findHttpParser } from '../../../../../src/gateway/connection/http1/http-parser.ts'

function open() {
  const received: string[] = []
  return { received, body: new BodyParts({ onBody: (chunk) => void received.push(chunk.toString()) }) }
}

describe('BodyParts', () => {
  it('passes on the first part, and joins small ones until they are passed on', () => {
    const { received, body } = open()
    for (const part of ['a', 'b', 'c']) body.add(Buffer.from(part))
    expect(received).toEqual(['a'])
    body.flush()
    body.flush()
    body.add(Buffer.from('d'))
    body.flush()
    expect([received, body.count]).toEqual([['a', 'bc', 'd'], 4])
  })

  it('passes a large part on by itself, in its place', () => {
    const { received, body } = open()
    const large = 'x'.repeat(4_097)
    for (const part of ['a', 'b', 'c', large, 'd']) body.add(Buffer.from(part))
    body.flush()
    expect(received).toEqual(['a', 'bc', large, 'd'])
  })
})

describe('a read of many chunks', () => {
  const chunks = '1\r\nx\r\n'.repeat(5_000)
  const parse = (head: string, text: string) => {
    const events: string[] = []
    const common = {
      onBody: (chunk: Buffer) => void events.push(`body ${chunk.length}`),
      onComplete: () => void events.push('end'),
      onRead: (error: Error | null) => void events.push(error === null ? 'read' : 'error'),
    }
    const readers = findHttpParser()!
    const parser = head.startsWith('HTTP/')
      ? readers.readResponses(
          {
            ...common,
            onHeaders: (headers) => void events.push(headers.join(' ')),
            onHead: () => 'reported',
            expectsBody: () => true,
          },
          16_384,
        )
      : readers.readRequests(
          { ...common, onHeaders: (headers) => void events.push(headers.join(' ')), onHead: () => 'reported' },
          16_384,
        )
    parser.parse(Buffer.from(`${head}\r\nTransfer-Encoding: chunked\r\n\r\n${text}`))
    const parts = parser.parts.count
    parser.close()
    return { events, parts }
  }

  it.each(['HTTP/1.1 200 OK', 'POST / HTTP/1.1'])('arrives as two, before what follows: %s', (head) => {
    expect(parse(head, chunks)).toEqual({ events: ['body 1', 'body 4999', 'read'], parts: 5_000 })
    expect(parse(head, `${chunks}0\r\n\r\n`).events).toEqual(['body 1', 'body 4999', 'end', 'read'])
    expect(parse(head, `${chunks}0\r\nA: b\r\n\r\n`).events).toEqual(['body 1', 'body 4999', 'A b', 'end', 'read'])
    expect(parse(head, `${chunks}z\r\n`).events).toEqual(['body 1', 'body 4999', 'error'])
  })
})

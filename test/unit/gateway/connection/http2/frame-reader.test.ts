import { describe, expect, it } from 'vitest'
import { FrameReader } from '../../../../../src/gateway/connection/http2/frame-reader.ts'
import * as h2 from './frames.ts'

/** What a reader reports, with the parts of a body joined. */
function read(parts: readonly Buffer[]): readonly string[] {
  const events: string[] = []
  let body: string | null = null
  const reader = new FrameReader({
    onFrame: (type, flags, stream, payload) => events.push(`${type} ${flags} ${stream} ${payload.toString('hex')}`),
    onDataFrame: (flags, stream, bytes) => {
      events.push(`DATA ${flags} ${stream} ${bytes}`)
      body = ''
    },
    onData: (part) => (body += part.toString('latin1')),
    onDataEnd: () => events.push(`= ${body}`),
    onInvalid: (code) => events.push(`invalid ${code}`),
  })
  for (const part of parts) reader.parse(Buffer.from(part))
  return events
}

const FRAMES = [
  h2.settings([[4, 70_000]]),
  h2.frame(h2.HEADERS, h2.END_HEADERS, 1, Buffer.from('8286', 'hex')),
  h2.data(1, 'body'),
  h2.frame(h2.DATA, h2.PADDED | h2.END_STREAM, 1, Buffer.from('\x03padded\0\0\0')),
  h2.frame(h2.DATA, h2.PADDED, 3, Buffer.from('\x02\0\0')),
  h2.frame(h2.DATA, h2.PADDED, 3, Buffer.from('\0')),
  h2.data(3, ''),
  h2.frame(h2.PING, 0, 0x8000_0000, Buffer.from('12345678')),
  h2.frame(h2.SETTINGS, h2.ACK, 0),
]
const EVENTS = [
  '4 0 0 000400011170',
  '1 4 1 8286',
  'DATA 0 1 4',
  '= body',
  'DATA 9 1 10',
  '= padded',
  'DATA 8 3 3',
  '= ',
  'DATA 8 3 1',
  '= ',
  'DATA 0 3 0',
  '= ',
  '6 0 0 3132333435363738',
  '4 1 0 ',
]

describe('FrameReader', () => {
  const bytes = Buffer.concat([h2.PREFACE, ...FRAMES])

  it('finds the frames in one read', () => {
    expect(read([bytes])).toEqual(EVENTS)
  })

  it('finds the same frames in two reads, wherever they are divided, and in reads of a few bytes', () => {
    for (let at = 1; at < bytes.length; at++) expect(read([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(EVENTS)
    for (const size of [1, 2, 3, 7]) {
      const count = Math.ceil(bytes.length / size)
      const parts = Array.from({ length: count }, (_, index) => bytes.subarray(index * size, (index + 1) * size))
      expect(read(parts)).toEqual(EVENTS)
    }
  })

  it.each([
    ['another preface', [Buffer.from('PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n')], 'invalid null'],
    ['a request of HTTP/1.1', [Buffer.from('GET')], 'invalid null'],
    ['a frame above 16 KB', [h2.PREFACE, h2.frame(0x42, 0, 0, Buffer.alloc(16_385))], 'invalid 6'],
    ['padding longer than its frame', [h2.PREFACE, h2.frame(h2.DATA, h2.PADDED, 1, Buffer.from([2, 1]))], 'invalid 1'],
    ['padded DATA without its length', [h2.PREFACE, h2.frame(h2.DATA, h2.PADDED, 1)], 'invalid 6'],
  ])('reads nothing behind %s', (_, parts, event) => {
    const events = read([...parts, ...FRAMES]).filter((each) => !each.startsWith('DATA'))
    expect(events).toEqual([event])
  })
})

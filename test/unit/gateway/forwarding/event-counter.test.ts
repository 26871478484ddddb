/** Counts exactly the events that a client dispatches, wherever chunks end. */

import { describe, expect, it } from 'vitest'
import { EventCounter } from '../../../../src/gateway/forwarding/event-counter.ts'

function countIn(bytes: Buffer, ...ends: readonly number[]): number {
  const counter = new EventCounter()
  let from = 0
  for (const end of [...ends, bytes.length]) {
    counter.add(bytes.subarray(from, end))
    from = end
  }
  return counter.count
}

/** Counts in another way: by lines of the whole text. */
function expectedIn(bytes: Buffer): number {
  const text = bytes.toString('latin1').replace(/^ï»¿/, '')
  const lines = text.split(/\r\n|\r|\n/).slice(0, -1)
  let [count, hasData] = [0, false]
  for (const line of lines) {
    if (line === '') {
      if (hasData) count++
      hasData = false
    } else if (/^data(?::|$)/.test(line)) hasData = true
  }
  return count
}

const MARK = '\ufeff'
const STREAMS: readonly (readonly [text: string, events: number])[] = [
  ['', 0],
  ['\n\n\n', 0],
  ['data: a\n\n', 1],
  ['data: a\n\ndata: b\n\n', 2],
  ['data: a\r\n\r\ndata: b\r\n\r\n', 2],
  ['data: a\r\rdata: b\r\r', 2],
  ['data: a\r\n\rdata: b\n\r\n', 2],
  ['data: a\n\n\n\n\n', 1],
  ['data: a\ndata: b\n\n', 1],
  ['event: x\nid: 1\ndata: a\n\n', 1],
  ['event: x\nid: 1\nretry: 5\n\n', 0],
  [': heartbeat\n\n:\n\n', 0],
  [': heartbeat\ndata: a\n\n', 1],
  ['data\n\n', 1],
  ['data:\n\n', 1],
  ['data:a\n\n', 1],
  ['database: a\n\n', 0],
  ['dat: a\n\nda\n\nd\n\n', 0],
  [' data: a\n\n', 0],
  ['Data: a\n\nDATA: a\n\n', 0],
  ['xdata: a\n\n', 0],
  ['a: data: b\n\n', 0],
  ['data: data: data\n\n', 1],
  ['data: a\n', 0],
  ['data: a', 0],
  ['data: a\n\ndata: b', 1],
  ['data: a\n \n\n', 1],
  [`${MARK}data: a\n\n`, 1],
  [`${MARK}\ndata: a\n\n`, 1],
  [`${MARK}${MARK}data: a\n\n`, 0],
  [`data: a\n\n${MARK}data: b\n\n`, 1],
  ['data: é🙂\n\n', 1],
  ['data: a\0b\n\n', 1],
]

describe('The count of events', () => {
  it.each(STREAMS)('in %j is %d, whichever two places the chunks end at', (text, events) => {
    const bytes = Buffer.from(text)
    expect(expectedIn(bytes)).toBe(events)
    for (let one = 0; one <= bytes.length; one++) {
      for (let other = one; other <= bytes.length; other++) expect(countIn(bytes, one, other)).toBe(events)
    }
    expect(countIn(bytes, ...bytes.keys())).toBe(events)
  })

  it('takes a part of the byte order mark for the beginning of a line', () => {
    for (const part of [[0xef], [0xef, 0xbb], [0xef, 0xbb, 0xbe]]) {
      const bytes = Buffer.from([...part, ...Buffer.from('data: a\n\ndata: b\n\n')])
      expect(countIn(bytes)).toBe(1)
      expect(countIn(bytes, ...bytes.keys())).toBe(1)
    }
  })

  it('is that of the lines of random streams', () => {
    const parts = ['data', ':', ' ', 'a', '\r', '\n', '\r\n', '\n\n', ':x', 'event: y', MARK, 'data: z\n']
    let state = 1
    const random = (below: number): number => (state = (state * 48_271) % 0x7fff_ffff) % below
    for (let round = 0; round < 3_000; round++) {
      const text = Array.from({ length: random(16) }, () => parts[random(parts.length)]).join('')
      const bytes = Buffer.from(text)
      const ends = Array.from({ length: 3 }, () => random(bytes.length + 1)).sort((a, b) => a - b)
      expect(countIn(bytes, ...ends), JSON.stringify({ text, ends })).toBe(expectedIn(bytes))
    }
  })
})

/** Frames are hostile input: whatever is passed on is valid, in whatever parts it arrives. */

import { describe, expect, it } from 'vitest'
import { FrameParser } from '../../../../src/gateway/websocket/frame-parser.ts'
import { frame, type FrameOptions } from '../../../fixtures/websocket-frames.ts'
import { createRandom } from '../../../random.ts'

const MAX = 200_000

interface Seen {
  readonly code: number
  readonly passed: Buffer
  readonly messages: number
  readonly payload: number
  readonly closed: string | null
}

function parse(bytes: Buffer, isMasked: boolean, parts: readonly number[] = [], messageBytesMax = MAX): Seen {
  const passed: Buffer[] = []
  let [messages, payload] = [0, 0]
  let closed: string | null = null
  const receiver = {
    pass: (part: Buffer) => void passed.push(Buffer.from(part)),
    onMessage: () => void messages++,
    onPayload: (count: number) => void (payload += count),
    onClose: (content: Buffer) => void (closed = content.toString('latin1')),
  }
  const parser = new FrameParser(receiver, { isMasked, messageBytesMax })
  let code = 0
  let from = 0
  for (const at of [...parts, bytes.length]) {
    code = parser.parse(bytes.subarray(from, at))
    from = at
    if (code !== 0) break
  }
  return { code, passed: Buffer.concat(passed), messages, payload, closed }
}

const text = (payload: string | Buffer, more: Partial<FrameOptions> = {}) => frame({ opcode: 1, payload, ...more })

describe.each([true, false])('A parser of frames (masked: %s)', (isMasked) => {
  const of = (options: FrameOptions) => frame({ ...options, isMasked })

  it.each([0, 1, 125, 126, 127, 65_535, 65_536])('passes on a message of %i bytes unchanged', (length) => {
    const bytes = of({ opcode: 2, payload: Buffer.alloc(length, 7) })
    const seen = parse(bytes, isMasked)
    expect(seen).toEqual({ code: 0, passed: bytes, messages: 1, payload: length, closed: null })
  })

  it('passes on the same bytes whatever the parts in which they arrive', () => {
    const bytes = Buffer.concat([
      of({ opcode: 1, payload: 'Hel', isFinal: false }),
      of({ opcode: 9, payload: 'ping' }),
      of({ opcode: 0, payload: '', isFinal: false }),
      of({ opcode: 10, payload: '' }),
      of({ opcode: 0, payload: 'lo' }),
      of({ opcode: 2, payload: Buffer.alloc(130, 1) }),
    ])
    const expected = { code: 0, passed: bytes, messages: 2, payload: 135, closed: null }
    for (let at = 1; at < bytes.length; at++) expect(parse(bytes, isMasked, [at])).toEqual(expected)
    const each = Array.from(bytes, (_, index) => index)
    expect(parse(bytes, isMasked, each)).toEqual(expected)
  })

  it.each([1, 2, 4])('refuses the reserved bit %i', (bit) => {
    expect(parse(of({ opcode: 1, payload: 'a', reserved: bit }), isMasked).code).toBe(1002)
  })

  it.each([3, 4, 5, 6, 7, 11, 12, 13, 14, 15])('refuses the opcode %i', (opcode) => {
    expect(parse(of({ opcode, payload: '' }), isMasked)).toMatchObject({ code: 1002, passed: Buffer.alloc(0) })
  })

  it('refuses a frame of the other direction', () => {
    expect(parse(text('a', { isMasked: !isMasked }), isMasked)).toMatchObject({ code: 1002, passed: Buffer.alloc(0) })
  })

  it.each([8, 9, 10])('refuses a control frame %i in fragments, or above 125 bytes', (opcode) => {
    expect(parse(of({ opcode, payload: '', isFinal: false }), isMasked).code).toBe(1002)
    expect(parse(of({ opcode, payload: Buffer.alloc(126) }), isMasked).code).toBe(1002)
  })

  it('refuses fragments out of order', () => {
    expect(parse(of({ opcode: 0, payload: 'a' }), isMasked).code).toBe(1002)
    const begun = of({ opcode: 1, payload: 'a', isFinal: false })
    const second = of({ opcode: 1, payload: 'b' })
    expect(parse(Buffer.concat([begun, second]), isMasked)).toMatchObject({ code: 1002, passed: begun })
  })

  it.each([
    [126, 125],
    [127, 65_535],
    [127, 2 ** 63],
  ])('refuses the length %i %i, in whatever parts it arrives', (encoding, length) => {
    const bytes = of({ opcode: 2, payload: '', length, encoding })
    for (let at = 0; at < bytes.length; at++) {
      expect(parse(bytes, isMasked, [at])).toMatchObject({ code: 1002, passed: Buffer.alloc(0), messages: 0 })
    }
  })

  it('refuses a message above the limit before its payload, also one in fragments', () => {
    expect(parse(of({ opcode: 2, payload: '', length: MAX + 1, encoding: 127 }), isMasked).code).toBe(1009)
    expect(parse(of({ opcode: 2, payload: '', length: 2 ** 53, encoding: 127 }), isMasked).code).toBe(1009)
    const half = of({ opcode: 2, payload: Buffer.alloc(MAX / 2), isFinal: false })
    const rest = of({ opcode: 0, payload: Buffer.alloc(MAX / 2), isFinal: false })
    const more = of({ opcode: 0, payload: 'a' })
    expect(parse(Buffer.concat([half, rest]), isMasked).code).toBe(0)
    expect(parse(Buffer.concat([half, rest, more]), isMasked).code).toBe(1009)
  })

  it.each([
    ['', 0],
    ['\x03', 1002],
    ['\x03\xe8', 0],
    ['\x03\xe8bye', 0],
    ['\x03\xe8\xc3\xa4', 0],
    ['\x03\xe8\xff', 1007],
    ['\x03\xe7', 1002],
    ['\x03\xec', 1002],
    ['\x03\xed', 1002],
    ['\x03\xee', 1002],
    ['\x03\xf7', 1002],
    ['\x07\xd0', 1002],
    ['\x0b\xb8', 0],
    ['\x13\x87', 0],
    ['\x13\x88', 1002],
    ['\xff\xff', 1002],
  ])('judges the close frame %j by its code and text: %i', (payload, code) => {
    const seen = parse(of({ opcode: 8, payload: Buffer.from(payload, 'latin1') }), isMasked)
    expect(seen).toMatchObject({ code, passed: Buffer.alloc(0), closed: code === 0 ? payload : null })
  })

  it('ignores what follows a close frame', () => {
    const before = of({ opcode: 1, payload: 'a' })
    const bytes = Buffer.concat([before, of({ opcode: 8, payload: '' }), before, Buffer.from('GET / HTTP/1.1')])
    expect(parse(bytes, isMasked)).toEqual({ code: 0, passed: before, messages: 1, payload: 1, closed: '' })
  })

  it('passes on nothing but prefixes of random bytes, the same in whatever parts', () => {
    const random = createRandom(5)
    for (let round = 0; round < 2_000; round++) {
      const bytes = Buffer.from(Array.from({ length: 1 + random.below(60) }, () => random.below(256)))
      if (random.below(2) === 0) bytes[0] = 0x80 | random.below(3)
      if (random.below(2) === 0 && bytes.length > 1) bytes[1] = (isMasked ? 0x80 : 0) | random.below(20)
      const whole = parse(bytes, isMasked)
      const parts = Array.from(bytes, (_, index) => index)
      expect(parse(bytes, isMasked, parts)).toEqual(whole)
      expect(bytes.subarray(0, whole.passed.length)).toEqual(whole.passed)
    }
  })
})

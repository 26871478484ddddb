/** Frames of HTTP/2 (RFC 9113, 6) and header blocks without compression (RFC 7541, 6.2.2). */

export const DATA = 0
export const HEADERS = 1
export const PRIORITY = 2
export const RST_STREAM = 3
export const SETTINGS = 4
export const PUSH_PROMISE = 5
export const PING = 6
export const GOAWAY = 7
export const WINDOW_UPDATE = 8
export const CONTINUATION = 9

export const END_STREAM = 0x1
export const ACK = 0x1
export const END_HEADERS = 0x4
export const PADDED = 0x8
export const WHOLE = END_STREAM | END_HEADERS

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
/** Settings of a client, by their number. */
export const SETTING = { tableSize: 1, push: 2, streams: 3, window: 4, frameSize: 5 } as const

export interface Frame {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

export function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value >>> 0)
  return bytes
}

export function settings(pairs: readonly (readonly [number, number])[] = []): Buffer {
  const payload = pairs.map(([name, value]) => Buffer.concat([Buffer.from([0, name]), uint32(value)]))
  return frame(SETTINGS, 0, 0, Buffer.concat(payload))
}

export const ACKNOWLEDGED = frame(SETTINGS, ACK, 0)
/** What a client sends first. */
export const OPENING = Buffer.concat([PREFACE, settings()])

export const ping = (flags = 0): Buffer => frame(PING, flags, 0, Buffer.from('12345678'))
export const reset = (stream: number, code = 8): Buffer => frame(RST_STREAM, 0, stream, uint32(code))
export const windowUpdate = (stream: number, bytes: number): Buffer => frame(WINDOW_UPDATE, 0, stream, uint32(bytes))
export const data = (stream: number, text: string, flags = 0): Buffer => frame(DATA, flags, stream, Buffer.from(text))

export type Fields = readonly (readonly [string, string])[]

/** Literal fields that are not indexed. */
export function block(fields: Fields): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]))
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1')
  return Buffer.concat([length(bytes.length), bytes])
}

/** An integer with a prefix of seven bits (RFC 7541, 5.1). */
function length(value: number): Buffer {
  if (value < 127) return Buffer.from([value])
  const bytes = [127]
  let rest = value - 127
  for (; rest >= 128; rest >>= 7) bytes.push((rest & 127) | 128)
  return Buffer.from([...bytes, rest])
}

export function pseudo(method = 'GET', path = '/', authority = 'a.example', scheme = 'http'): Fields {
  return [
    [':method', method],
    [':scheme', scheme],
    [':authority', authority],
    [':path', path],
  ]
}

export function headers(stream: number, fields: Fields = pseudo(), flags = WHOLE): Buffer {
  return frame(HEADERS, flags, stream, block(fields))
}

/** Returns the frames in bytes, and how many bytes they have. */
export function parseFrames(bytes: Buffer): { readonly frames: readonly Frame[]; readonly length: number } {
  const frames: Frame[] = []
  let at = 0
  while (bytes.length >= at + 9) {
    const end = at + 9 + bytes.readUIntBE(at, 3)
    if (bytes.length < end) break
    const [type, flags] = [bytes.readUInt8(at + 3), bytes.readUInt8(at + 4)]
    frames.push({ type, flags, stream: bytes.readUInt32BE(at + 5), payload: bytes.subarray(at + 9, end) })
    at = end
  }
  return { frames, length: at }
}

/** Statuses in the static table of HPACK. */
const STATUSES: Readonly<Record<number, number>> = {
  0x88: 200,
  0x89: 204,
  0x8a: 206,
  0x8b: 304,
  0x8c: 400,
  0x8d: 404,
  0x8e: 500,
}

/** Returns the status of a head, which is its first field. */
export function statusOf({ payload }: Frame): number {
  return payload[0] === 0x08 ? Number(payload.toString('latin1', 2, 5)) : (STATUSES[payload[0] ?? 0] ?? 0)
}

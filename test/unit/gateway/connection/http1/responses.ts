/** Random responses of backends: valid ones, and mutations of them. */

import type { Random } from '../../../../random.ts'
import { SEPARATORS, chunked, mutate, pick, randomSplits, some } from './mutations.ts'

const INTERIM = [
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n',
  'HTTP/1.1 104 Upload\r\nContent-Length: 2\r\n\r\nab',
  'HTTP/1.1 199 Odd\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n',
  'HTTP/1.1 199 Odd\r\n\r\n',
]
const NAMES = ['Content-Type', 'x-a', 'ETag', 'Set-Cookie', 'Keep-Alive', 'Connection', 'Trailer', 'X_B', 'Upgrade']
const VALUES = [
  'a',
  'text/plain; charset=utf-8',
  '"x, y"',
  'timeout=5',
  'close',
  'keep-alive',
  '',
  'ü',
  'x'.repeat(300),
]
const STATUSES = [200, 200, 200, 201, 204, 205, 206, 302, 304, 404, 500, 503, 599]

/** What a mutation inserts: tokens on which parsers have disagreed. */
export const RESPONSE_TOKENS = [
  'Content-Length: 3\r\n',
  'Content-Length: 03\r\n',
  'Content-Length: +3\r\n',
  'Content-Length: 3, 3\r\n',
  'content-length:3\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: gzip, chunked\r\n',
  'Transfer-Encoding: chunked, identity\r\n',
  'Transfer-Encoding:\tchunked\r\n',
  'Transfer-Encoding : chunked\r\n',
  'Connection: close\r\n',
  'Connection: upgrade\r\nUpgrade: h2c\r\n',
  'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx',
  'HTTP/1.1 101 Switching Protocols\r\n\r\n',
  'HTTP/1.0 ',
  'HTTP/2.0 ',
  ...SEPARATORS,
]

export interface Generated {
  readonly method: 'GET' | 'HEAD'
  readonly bytes: Buffer
  /** Where the bytes are split into reads, in order. */
  readonly splits: readonly number[]
}

/** Most are mutated once or more. */
export function generateResponse(random: Random): Generated {
  const method = some(random, 0.1) ? 'HEAD' : 'GET'
  let text = response(random, method)
  if (some(random, 0.75))
    for (let count = 1 + random.below(3); count > 0; count--) text = mutate(random, text, RESPONSE_TOKENS)
  const bytes = Buffer.from(text, 'latin1')
  return { method, bytes, splits: randomSplits(random, bytes.length) }
}

function response(random: Random, method: string): string {
  const status = pick(random, STATUSES)
  let text = some(random, 0.1) ? pick(random, INTERIM) : ''
  text += `HTTP/1.${some(random, 0.1) ? 0 : 1} ${status} ${pick(random, ['OK', '', 'Not so good', 'ü'])}\r\n`
  for (let count = random.below(6); count > 0; count--) text += `${pick(random, NAMES)}: ${pick(random, VALUES)}\r\n`
  const body = 'body of a response '.repeat(random.below(5))
  const hasBody = method !== 'HEAD' && status !== 204 && status !== 304
  const framing = random.below(3)
  if (framing === 0) return `${text}\r\n${hasBody ? body : ''}`
  if (framing === 1) return `${text}Content-Length: ${body.length}\r\n\r\n${hasBody ? body : ''}`
  return `${text}Transfer-Encoding: chunked\r\n\r\n${hasBody ? chunked(random, body) : ''}`
}

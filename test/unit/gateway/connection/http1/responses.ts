/** Random responses of backends: valid ones, and mutations of them. */

import type { Random } from '../../../../random.ts'

const pick = <T>(random: Random, items: readonly T[]): T => items[random.below(items.length)]!
const some = (random: Random, chance: number): boolean => random.next() < chance

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
const TOKENS = [
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
  '\r\n',
  '\n',
  '\r',
  '\r\n\r\n',
  '\n\n',
  '\0',
  ' ',
  '\t',
  ':',
  ';a=b',
  ';a="\r\n"',
  '0\r\n\r\n',
  '0',
  'ffffffffffffffff',
  '-1',
  '\x0b',
  '\x7f',
  '\xff',
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
  if (some(random, 0.75)) for (let count = 1 + random.below(3); count > 0; count--) text = mutate(random, text)
  const bytes = Buffer.from(text, 'latin1')
  const splits = Array.from({ length: random.below(4) }, () => random.below(bytes.length + 1))
  return { method, bytes, splits: splits.toSorted((a, b) => a - b) }
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

function chunked(random: Random, body: string): string {
  let text = ''
  for (let at = 0; at < body.length;) {
    const part = body.slice(at, at + 1 + random.below(30))
    text += `${part.length.toString(16)}${some(random, 0.1) ? ';a=b' : ''}\r\n${part}\r\n`
    at += part.length
  }
  return `${text}0\r\n${some(random, 0.15) ? 'X-Trailer: a\r\n' : ''}\r\n`
}

function mutate(random: Random, text: string): string {
  const at = random.below(text.length + 1)
  const length = random.below(6)
  switch (random.below(7)) {
    case 0:
      return text.slice(0, at) + text.slice(at + 1 + length)
    case 1:
      return text.slice(0, at) + String.fromCharCode(random.below(256)) + text.slice(at + 1)
    case 2:
      return text.slice(0, at)
    case 3:
      return text + pick(random, TOKENS)
    case 4: {
      // A line of the head twice.
      const lines = text.split('\r\n')
      const line = random.below(lines.length)
      return lines.toSpliced(line, 0, lines[line]!).join('\r\n')
    }
    default: {
      // At the start of a line, where it means most, or anywhere.
      const start = some(random, 0.6) ? text.indexOf('\n', at) + 1 : at
      return text.slice(0, start) + pick(random, TOKENS) + text.slice(start)
    }
  }
}

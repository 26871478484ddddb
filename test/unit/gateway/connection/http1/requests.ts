/** Random streams of requests of one client: valid ones, and mutations of them. */

import type { Random } from '../../../../random.ts'
import { SEPARATORS, chunked, mutate, pick, randomSplits, some } from './mutations.ts'

const METHODS = ['GET', 'GET', 'GET', 'HEAD', 'POST', 'POST', 'PUT', 'OPTIONS']
const TARGETS = ['/', '/a?b=c', '/%41', '*', 'http://a.example/b', `/${'x'.repeat(300)}`]
const OLD = 'HTTP/1.0'
const VERSIONS = [OLD, OLD, OLD, OLD, OLD, 'HTTP/0.9', 'HTTP/1.2', 'HTTP/2.0', 'HTTP/1.11', 'http/1.1', '']
const CONNECTIONS = ['close', 'keep-alive', 'Close', 'keep-alive, close', 'x-a', 'upgrade', '', 'ü']

/** Names that `headers` joins, keeps once, or keeps as a list. */
const NAMES = [
  'x-a',
  'X-A',
  'Cookie',
  'Accept',
  'Authorization',
  'Content-Type',
  'Set-Cookie',
  'ETag',
  'Via',
  'X_B',
  'TE',
]
const VALUES = ['a', 'text/plain; charset=utf-8', '"x, y"', '', 'ü', '  a \t', 'a=b; c=d', 'x'.repeat(300), '__proto__']

/** What a mutation inserts: tokens on which parsers have disagreed. */
export const REQUEST_TOKENS = [
  'Content-Length: 3\r\n',
  'Content-Length: 03\r\n',
  'Content-Length: +3\r\n',
  'Content-Length: 3, 3\r\n',
  'Content-Length: 99999999999999999999\r\n',
  'content-length:\t0 \r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: gzip, chunked\r\n',
  'Transfer-Encoding: chunked, identity\r\n',
  'Transfer-Encoding:\x0bchunked\r\n',
  'Transfer-Encoding : chunked\r\n',
  'Connection: close\r\n',
  'Connection: keep-alive\r\n',
  'Connection: upgrade\r\nUpgrade: h2c\r\n',
  'Upgrade: websocket\r\n',
  'Proxy-Connection: close\r\n',
  'Expect: 100-continue\r\n',
  'Expect: other\r\n',
  'Host: a\r\nHost: b\r\n',
  '__proto__: a\r\n',
  ' folded: a\r\n',
  '\tfolded\r\n',
  'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n',
  'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx',
  '\x16\x03\x01\x02\x00',
  'HTTP/1.0',
  ...SEPARATORS,
]

/** When and how the handler of a request responds. */
export interface Plan {
  readonly isChunked: boolean
  readonly isLate: boolean
  /** Before it reads the body, which it ignores. */
  readonly isEarly: boolean
}

export interface GeneratedRequests {
  readonly bytes: Buffer
  /** Where the bytes are split into reads, in order. */
  readonly splits: readonly number[]
  /** The client closes its side after the bytes. */
  readonly ends: boolean
  /** Of the requests in turn. */
  readonly plans: readonly Plan[]
}

/** Many are mutated once or more. */
export function generateRequests(random: Random): GeneratedRequests {
  if (some(random, 0.2)) return repeatedRequests(random)
  let text = ''
  for (let count = 1 + random.below(4); count > 0; count--) text += generateRequest(random)
  if (some(random, 0.45))
    for (let count = 1 + random.below(3); count > 0; count--) text = mutate(random, text, REQUEST_TOKENS)
  const bytes = Buffer.from(text, 'latin1')
  const ends = some(random, 0.3)
  // A response that is not there when the client closes its side is not sent: whether it is late would depend on the machine.
  const plans = Array.from({ length: 5 }, () => ({
    isChunked: some(random, 0.3),
    isLate: !ends && some(random, 0.3),
    isEarly: some(random, 0.1),
  }))
  return { bytes, splits: randomSplits(random, bytes.length), ends, plans }
}

/** One request again and again, each in a read of its own; some are mutated, or have another target. */
function repeatedRequests(random: Random): GeneratedRequests {
  const request = generateRequest(random)
  const parts = Array.from({ length: 3 + random.below(4) }, () => {
    const chance = random.next()
    if (chance < 0.6) return request
    return chance < 0.8 ? request.replace('/', pick(random, TARGETS)) : mutate(random, request, REQUEST_TOKENS)
  })
  const bytes = Buffer.from(parts.join(''), 'latin1')
  let end = 0
  const splits = parts.slice(0, -1).map((part) => (end += part.length))
  return { bytes, splits, ends: some(random, 0.3), plans: [] }
}

export function generateRequest(random: Random): string {
  const odd = random.next()
  if (odd < 0.02) return pick(random, ['\r\n', 'garbage\r\n\r\n', '\x16\x03\x01\x02\x00\x01', 'GET /\r\n\r\n'])
  if (odd < 0.04) return 'CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n'
  const method = pick(random, METHODS)
  const version = some(random, 0.9) ? 'HTTP/1.1' : pick(random, VERSIONS)
  const keepAlive = version === OLD && some(random, 0.5) ? 'Connection: keep-alive\r\n' : ''
  const head = `${method} ${pick(random, TARGETS)} ${version}\r\nHost: a.example\r\n${keepAlive}${headers(random)}`
  const hasBody = method === 'POST' || method === 'PUT' || some(random, 0.1)
  if (!hasBody) return `${head}\r\n`
  // A body of more than 64 KB stops the reads until the handler wants it.
  const body = some(random, 0.02) ? 'b'.repeat(70_000) : 'body of a request '.repeat(random.below(5))
  const expect = some(random, 0.15) ? `Expect: ${pick(random, ['100-continue', '100-Continue', 'other'])}\r\n` : ''
  if (some(random, 0.5)) return `${head}${expect}Content-Length: ${body.length}\r\n\r\n${body}`
  return `${head}Transfer-Encoding: ${pick(random, ['chunked', 'Chunked'])}\r\n${expect}\r\n${chunked(random, body)}`
}

function headers(random: Random): string {
  let text = ''
  for (let count = random.below(6); count > 0; count--) text += `${pick(random, NAMES)}: ${pick(random, VALUES)}\r\n`
  if (some(random, 0.15)) text += `Connection: ${pick(random, CONNECTIONS)}\r\n`
  if (some(random, 0.02)) text += 'Connection: Upgrade\r\nUpgrade: websocket\r\n'
  // The parser passes 32 headers at a time; node:http keeps 1,000; a head ends at 16 KB.
  if (some(random, 0.05)) text += 'x-many: a\r\n'.repeat(28 + random.below(70))
  if (some(random, 0.01)) text += 'a:\r\n'.repeat(950 + random.below(100))
  if (some(random, 0.02)) text += `x-long: ${'b'.repeat(15_000 + random.below(2_500))}\r\n`
  return text
}

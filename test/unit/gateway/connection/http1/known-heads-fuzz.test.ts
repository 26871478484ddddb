/**
 * Compares how messages are reported that come again and again on a connection, nearly or exactly the same: read at once, so that the
 * known ones go past Node's parser, and in two parts each, so that none does.
 */

import { expect, it } from 'vitest'
import { createRandom, type Random } from '../../../../random.ts'
import { readSeed } from '../../../../random-seed.ts'
import { mutate, pick, some } from './mutations.ts'
import { Log } from './open-log.ts'
import { generateRequest, REQUEST_TOKENS } from './requests.ts'
import { generateResponse, RESPONSE_TOKENS } from './responses.ts'

const MESSAGES = Number(process.env['MESSAGES'] ?? 20_000)
const SEED = readSeed(1)
const READS = 12
const KINDS = ['requests', 'responses'] as const
type Kind = (typeof KINDS)[number]

interface Read {
  readonly text: string
  readonly method: 'GET' | 'HEAD'
}

const HEADERS = 'Host: a.example\r\nAuthorization: Bearer abc\r\nAccept: text/plain\r\n\r\n'
const TARGETS = [
  '/',
  '/a',
  '/a/b?c=d&e=%20',
  '*',
  '/ ',
  '/\t',
  '/\xfc',
  '/a HTTP/1.1\r\nX: ',
  '//a',
  'a',
  '/#a',
  '/[a]',
  '/"',
]

const START = { requests: 'POST / HTTP/1.1\r\n', responses: 'HTTP/1.1 200 OK\r\n' }
const TRAILERS = [
  '',
  'X-A: b\r\n',
  'Connection: close\r\n',
  'Proxy-Connection: close\r\n',
  'Connection: keep-alive\r\n',
]

const isSimple = (random: Random): boolean => some(random, 0.7)

/** A message that repeats well. */
const simple: Readonly<Record<Kind, (random: Random) => string>> = {
  requests: (random) => `${pick(random, ['GET', 'HEAD', 'DELETE', 'POST'])} /a HTTP/1.1\r\n${HEADERS}`,
  responses: (random) =>
    `HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 5\r\n\r\n${pick(random, ['hello', '\r\n\r\na'])}`,
}

const any: typeof simple = {
  requests: generateRequest,
  responses: (random) => generateResponse(random).bytes.toString('latin1'),
}

const TOKENS = { requests: REQUEST_TOKENS, responses: RESPONSE_TOKENS }

/** Messages of one connection: the same one, others, and the same one changed, cut off, with another target, or with more behind it. */
function generate(random: Random, kind: Kind): readonly Read[] {
  const create = isSimple(random) ? simple[kind] : any[kind]
  const base = create(random)
  return Array.from({ length: READS }, () => ({
    text: vary(random, kind, base, create),
    method: some(random, 0.05) ? 'HEAD' : 'GET',
  }))
}

function vary(random: Random, kind: Kind, base: string, create: (random: Random) => string): string {
  const chance = random.next()
  if (chance < 0.6) return base
  if (chance < 0.75) return base.replace(/ \S+ /, () => ` ${pick(random, TARGETS)} `)
  if (chance < 0.85) return mutate(random, base, TOKENS[kind])
  if (chance < 0.9) return base + pick(random, [base, 'G', 'H', '\r\n'])
  if (chance < 0.93) return base.slice(0, random.below(base.length))
  if (chance < 0.96)
    return `${START[kind]}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n${pick(random, TRAILERS)}\r\n`
  return create(random)
}

/** Returns what was reported, and how often Node's parser was asked. */
function readAll(kind: Kind, reads: readonly Read[], toParts: (text: string) => readonly string[]) {
  const log = new Log(kind)
  const places: boolean[] = []
  let executions = 0
  for (const { text, method } of reads) {
    executions += log.read(toParts(text), method)
    // Asking about a response without an end would end it.
    if (kind === 'requests' && !log.isOver) places.push(log.isBetweenMessages())
  }
  log.close()
  return { events: log.events, places, executions }
}

it.each(KINDS)(`known and parsed ${MESSAGES} %s are reported alike`, { timeout: 3_600_000 }, async (kind) => {
  let unparsed = 0
  for (let seed = SEED; seed < SEED + MESSAGES / READS; seed++) {
    const random = createRandom(seed)
    const reads = generate(random, kind)
    const whole = readAll(kind, reads, (text) => [text])
    const split = readAll(kind, reads, (text) => [text.slice(0, 1), text.slice(1)])
    unparsed += reads.length - whole.executions
    const { events, places } = split
    expect({ seed, reads, events: whole.events, places: whole.places }).toEqual({ seed, reads, events, places })
    // Closed parsers are freed between turns.
    if (seed % 1_000 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  expect(unparsed).toBeGreaterThan(MESSAGES / 10)
})

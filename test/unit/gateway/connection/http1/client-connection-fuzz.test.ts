/**
 * Compares how our connections and `node:http` serve generated and mutated streams of requests: ours must serve and answer the same,
 * or be stricter for a reason of the list below.
 */

import { isDeepStrictEqual } from 'node:util'
import { expect, it } from 'vitest'
import { createRandom } from '../../../../random.ts'
import { readSeed } from '../../../../random-seed.ts'
import type { Answer } from './answers.ts'
import { expectsContinue, serveWithNode, serveWithOurs, type Reading, type Served } from './read-requests.ts'
import { generateRequests } from './requests.ts'

const MESSAGES = Number(process.env['MESSAGES'] ?? 5_000)
const SEED = readSeed(1)
/** Streams that are served at once. */
const AT_ONCE = 50
const DIFFERENCES_SHOWN = 5

/** Returns how many requests are compared, since the servers differ behind them on purpose; null without such a reason. */
type Reason = (ours: Reading, node: Reading, text: string) => number | null

const HEADERS_MAX = 1_000

const orNull = (index: number): number | null => (index < 0 ? null : index + 1)
const isFinal = ({ status }: Answer): boolean => status >= 200
const isLast = (answer: Answer | undefined): boolean => answer?.lines.includes('Connection: close') === true
const valueIn = ({ headers }: Served, name: string): string => String(headers[name] ?? '').toLowerCase()

/**
 * What follows a request to upgrade in its read is lost. Ours ends the connection then; node:http serves what it finds behind it. Of
 * later reads, node:http ignores invalid ones.
 */
const upgrade: Reason = ({ served }) => {
  const count = orNull(served.findLastIndex(isUpgrade))
  return count === served.length ? count : null
}
const isUpgrade = (request: Served): boolean =>
  valueIn(request, 'upgrade') !== '' && /\bupgrade\b/.test(valueIn(request, 'connection'))

/** Returns how many requests come up to the first one after which only node:http closes the connection, if it is as stated. */
function lastOfNode(ours: Reading, node: Reading, isAsStated: (request: Served) => boolean): number | null {
  const answers = ours.answers.filter(isFinal)
  const nodeAnswers = node.answers.filter(isFinal)
  const isOneSided = (_: Served, index: number): boolean => isLast(nodeAnswers[index]) && !isLast(answers[index])
  return orNull(ours.served.findIndex((request, index) => isOneSided(request, index) && isAsStated(request)))
}

/**
 * node:http closes the connection after the response to an expectation that got no `100 Continue`; ours serves the next request if
 * the body has arrived, as here, where the handler reads it.
 */
const unaskedBody: Reason = (ours, node) =>
  lastOfNode(ours, node, ({ isComplete, headers }) => isComplete && expectsContinue(headers))

/** node:http closes the connection after a response to HEAD over HTTP/1.0 without a length, which would end a body, but has none. */
const headOfOldVersion: Reason = (ours, node) =>
  lastOfNode(ours, node, ({ method, version }) => method === 'HEAD' && version === '1.0')

/** Requests behind the final response get no answer: ours serves and counts none that arrives later, node:http does. */
const behindFinal: Reason = (ours, node) => {
  if (!ours.isClosed || !node.isClosed || ours.served.length > node.served.length) return null
  const nodeAnswers = node.answers.filter(isFinal)
  return orNull(ours.answers.filter(isFinal).findIndex((answer, index) => isLast(answer) && isLast(nodeAnswers[index])))
}

/** A request with a malformed body gets the refusal, or its response if that is there first, which depends on the ticks. */
const malformedBody: Reason = (ours, node) => {
  const [answers, nodeAnswers] = [ours, node].map((reading) => reading.answers.filter(isFinal))
  const last = ours.served.length - 1
  const isRefused = (answer: Answer | undefined): boolean => answer?.status === 400
  const isOneRefused = isRefused(answers![last]) !== isRefused(nodeAnswers![last])
  const isMalformed = ours.served[last]?.isComplete === false && ours.counts.includes('malformed')
  return ours.isClosed && node.isClosed && isMalformed && isOneRefused ? last : null
}

/** A request that was answered before its body turned out to be malformed gets no second response from ours, which only ends. */
const answeredBody: Reason = (ours, node) => {
  const [answers, nodeAnswers] = [ours, node].map((reading) => reading.answers.filter(isFinal))
  const isAnswered = ours.served.at(-1)?.isComplete === false && answers!.length === ours.served.length
  return ours.isClosed && isAnswered && nodeAnswers!.length === answers!.length + 1 ? answers!.length : null
}

/** Both refuse more than 1,000 headers: node:http with the next one, ours at the end of the head, if that is valid. */
const manyHeaders: Reason = (ours, node, text) =>
  text.split('\r\n').length > HEADERS_MAX && node.counts.includes('header_too_long') ? ours.served.length : null

const REASONS = { upgrade, unaskedBody, headOfOldVersion, behindFinal, malformedBody, answeredBody, manyHeaders }
/** Not met by each run. */
const RARE = new Set(['malformedBody'])

/** Removes the header that `node:http` loses, since its objects have that prototype. */
function withoutPrototype(request: Served): Served {
  const { ['__proto__']: _, ...headers } = request.headers
  return { ...request, headers }
}

function differenceBetween(ours: Reading, node: Reading, text: string): string | null {
  if (hasFalseContinue(ours) || hasFalseContinue(node)) return '100 Continue'
  const compared = Math.min(...Object.values(REASONS).map((reason) => reason(ours, node, text) ?? Infinity))
  const partsOf = (reading: Reading) => (compared === Infinity ? allOf(reading) : firstOf(reading, compared))
  return differenceOf(partsOf(ours), partsOf(node))
}

/** Omits `100 Continue` before a response: whether the body arrives before it is sent depends on the ticks of the event loop. */
const allOf = (reading: Reading) => ({
  ...reading,
  served: reading.served.map(withoutPrototype),
  answers: reading.answers.filter(isFinal),
  isBodyAwaited: reading.answers.at(-1)?.status === 100,
})

/** The last one may differ in `Connection`. */
const firstOf = ({ served, answers, faults }: Reading, count: number) => ({
  served: served.slice(0, count).map(withoutPrototype),
  answers: answers
    .filter(isFinal)
    .slice(0, count)
    .map((answer, index) => (index < count - 1 ? answer : { ...answer, lines: [] })),
  faults,
})

/** Whether a request that does not expect it got `100 Continue`, or got it twice. */
function hasFalseContinue({ answers, served }: Reading): boolean {
  let finals = 0
  for (const [index, answer] of answers.entries()) {
    if (isFinal(answer)) finals++
    else if (answer.status !== 100 || answers[index + 1]?.status === 100) return true
    else if (!expectsContinue(served[finals]?.headers ?? {})) return true
  }
  return false
}

function differenceOf(ours: object, node: object): string | null {
  const nodeParts = new Map<string, unknown>(Object.entries(node))
  const isDifferent = ([key, part]: [string, unknown]): boolean => !isDeepStrictEqual(part, nodeParts.get(key))
  const keys = Object.entries(ours)
    .filter(isDifferent)
    .map(([key]) => key)
  return keys.length === 0 ? null : keys.join(', ')
}

function verdictOf({ answers, isClosed }: Reading): 'open' | 'closed' | 'refused' {
  if (answers.some(({ status }) => status >= 400)) return 'refused'
  return isClosed ? 'closed' : 'open'
}

/** Shortens runs of one character. */
const describeStream = (seed: number, found: string, details: object): string =>
  `seed ${seed}: ${found}\n${JSON.stringify(details).replaceAll(/(.)\1{99,}/g, '$1…')}`

it(`ClientConnection serves ${MESSAGES} streams of requests as node:http does`, { timeout: 3_600_000 }, async () => {
  const seen = { open: 0, closed: 0, refused: 0, served: 0, bodies: 0 }
  const reasons = new Set<string>()
  const statuses = new Set<number>()
  const differences: string[] = []

  async function compare(seed: number): Promise<void> {
    const sent = generateRequests(createRandom(seed))
    const [ours, node] = await Promise.all([serveWithOurs(sent), serveWithNode(sent)])
    const text = sent.bytes.toString('latin1')
    const found = differenceBetween(ours, node, text)
    if (found !== null && differences.length < DIFFERENCES_SHOWN) {
      differences.push(describeStream(seed, found, { ...sent, bytes: text, ours, node }))
    }
    seen[verdictOf(ours)]++
    seen.served += ours.served.length
    seen.bodies += ours.served.filter(({ body, isComplete }) => isComplete && body !== '').length
    for (const { status } of ours.answers) statuses.add(status)
    for (const [name, reason] of Object.entries(REASONS)) if (reason(ours, node, text) !== null) reasons.add(name)
  }

  for (let first = 0; first < MESSAGES; first += AT_ONCE) {
    const count = Math.min(AT_ONCE, MESSAGES - first)
    await Promise.all(Array.from({ length: count }, (_, index) => compare(SEED + first + index)))
  }
  expect(differences).toEqual([])
  // A generator whose messages are all broken, or all valid, compares little.
  for (const verdict of ['open', 'closed', 'refused'] as const) expect(seen[verdict]).toBeGreaterThan(MESSAGES / 10)
  expect(seen.served).toBeGreaterThan(MESSAGES)
  expect(seen.bodies).toBeGreaterThan(MESSAGES / 5)
  expect([...statuses].toSorted((a, b) => a - b)).toEqual([100, 200, 400, 431, 501, 505])
  expect(Object.keys(REASONS).filter((name) => !reasons.has(name) && !RARE.has(name))).toEqual([])
})

/**
 * Compares the verdicts of our connections on generated and mutated responses with those of `node:http`: ours must be the same, or
 * stricter for a reason of the list below.
 */

import { expect, it } from 'vitest'
import { createRandom } from '../../../../random.ts'
import { readSeed } from '../../../../random-seed.ts'
import { readWithNode, readWithOurs, type Reading } from './read-response.ts'
import { generateResponse } from './responses.ts'

const MESSAGES = Number(process.env['MESSAGES'] ?? 5_000)
const SEED = readSeed(1)
/** Messages that are read at once. */
const AT_ONCE = 50

/** Why ours may fail where `node:http` reads a response. */
function isStricter(ours: Reading): boolean {
  return ours.verdict === 'failed' && ours.code === 'TOLLGATE_RESPONSE_INVALID'
}

/** Ours completes a response whose trailer holds a length (RFC 9110, 6.5.1); `node:http` fails it after its whole body. */
function hasTrailerLength(text: string): boolean {
  return /\r\n0+(?:;[^\r\n]*)?\r\n(?:[^\r\n]+\r\n)*content-length[^\r\n]*/i.test(text)
}

function difference(ours: Reading, node: Reading, text: string): string | null {
  if (ours.verdict === 'failed' && node.verdict === 'failed') return null
  if (isStricter(ours)) return null
  if (ours.verdict !== node.verdict && (ours.isReusable || !hasTrailerLength(text))) return 'verdict'
  if (ours.status !== node.status) return 'status'
  if (ours.body !== node.body) return 'body'
  return ours.headers.join('\n') === node.headers.join('\n') ? null : 'headers'
}

it(`agrees with node:http on ${MESSAGES} responses`, { timeout: 3_600_000 }, async () => {
  const seen = { complete: 0, failed: 0, reusable: 0, stricter: 0 }
  for (let first = 0; first < MESSAGES; first += AT_ONCE) {
    const seeds = Array.from({ length: Math.min(AT_ONCE, MESSAGES - first) }, (_, index) => SEED + first + index)
    await Promise.all(
      seeds.map(async (seed) => {
        const random = createRandom(seed)
        const sent = { ...generateResponse(random), ends: random.below(2) === 0 }
        const [ours, node] = await Promise.all([readWithOurs(sent), readWithNode(sent)])
        const text = sent.bytes.toString('latin1')
        const found = difference(ours, node, text)
        if (found !== null)
          expect.fail(`seed ${seed}: ${found}\n${JSON.stringify({ text, splits: sent.splits, ours, node })}`)
        seen[ours.verdict]++
        if (ours.isReusable) seen.reusable++
        if (isStricter(ours) && node.verdict === 'complete') seen.stricter++
      }),
    )
  }
  // A generator whose messages are all broken, or all valid, compares little.
  expect(seen.complete).toBeGreaterThan(MESSAGES / 5)
  expect(seen.failed).toBeGreaterThan(MESSAGES / 5)
  expect(seen.reusable).toBeGreaterThan(MESSAGES / 20)
  expect(seen.stricter).toBeGreaterThan(0)
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { lint, lintServable, readToLint } from '../../../../../src/documents/governance/lint/lint.ts'
import { countRules } from '../../../../../src/documents/governance/lint/rule-counts.ts'
import { gainsOf, scoreOf, WEIGHTS, type RuleCount } from '../../../../../src/documents/governance/lint/score.ts'
import { createRandom } from '../../../../random.ts'
import { AWFUL, bytesOf, clean, query, type Json } from './clean-document.ts'

describe('the score', () => {
  it('never rises with one more finding, and the costs add up to the missing points', async () => {
    for (let seed = 1; seed <= 12; seed++) {
      const random = createRandom(seed)
      let last = 100
      const operation: Json = {}
      const parameters: Json[] = []
      for (let step = 0; step < 8; step++) {
        const before = JSON.stringify(operation)
        if (random.below(2) === 0)
          parameters.push(query(`p${step}`, { type: ['string', 'integer', 'array'][random.below(3)] }))
        else
          Object.assign(
            operation,
            [
              { summary: undefined },
              { operationId: undefined },
              { security: [] },
              { description: `${'ghp'}_${'a'.repeat(36)}` },
            ][random.below(4)],
          )
        operation['parameters'] = parameters
        const { score, costs } = await lint(bytesOf(clean({ path: '/cards', method: 'post', operation })))
        expect(score, `seed ${seed}: ${before}`).toBeLessThanOrEqual(last)
        expect(Math.abs(costs.reduce((sum, { cost }) => sum + cost, 0) - (100 - score))).toBeLessThan(0.1)
        last = score
      }
    }
  })

  it('falls by the share of the operations that have a finding', async () => {
    const bad = clean({ operation: { summary: undefined } })
    const paths = bad['paths'] as Json
    const good = (clean()['paths'] as Json)['/gift-cards/{id}'] as Json
    const more = Object.fromEntries(
      Array.from({ length: 9 }, (_, index) => [
        `/pads-${index}/{id}`,
        { get: { ...(good['get'] as Json), operationId: `pad${index}` } },
      ]),
    )
    const padded = { ...bad, paths: { ...paths, ...more } }

    expect((await lint(bytesOf(bad))).score).toBe(92)
    expect((await lint(bytesOf(padded))).score).toBe(99.2)
  })

  it('of an awful document is below 40', async () => {
    const { score, isServable } = await lint(bytesOf(AWFUL))
    expect(isServable).toBe(true)
    expect(score).toBeLessThan(40)
  })

  it('of the sample matches the snapshot', async () => {
    const root = join(import.meta.dirname, '../../../../..')
    const { score, byCategory, costs, omitted } = await lint(
      readFileSync(join(root, 'src/app/sample/payments.openapi.yaml')),
    )
    const counts = costs.map(({ rule, count }) => `${rule} ${count}`)
    expect({ score, byCategory, costs: counts, omitted }).toMatchSnapshot()
  })

  it('is the product of what the rules cost, as in the example of the documentation', () => {
    const count = (rule: string, severity: 'error' | 'warning' | 'info', density: number): RuleCount => ({
      rule,
      severity,
      category: 'design',
      count: 1,
      weight: WEIGHTS[severity],
      density,
    })
    const counts = [count('success-response', 'error', 1 / 10), count('operation-summary', 'warning', 5 / 10)]
    counts.push(count('info-contact', 'info', 1))

    expect(scoreOf(counts, true).score).toBe(89.8)
    expect(gainsOf(counts, true)).toEqual([
      { rule: 'info-contact', count: 1, gain: 3.8 },
      { rule: 'operation-summary', count: 1, gain: 3.8 },
      { rule: 'success-response', count: 1, gain: 2.3 },
    ])
  })

  it('is not lowered by removing findings, nor raised by adding them', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const random = createRandom(seed)
      const severities = ['error', 'warning', 'info'] as const
      const spots = Array.from({ length: 40 }, (_, at) => {
        const rule = random.below(6)
        const severity = severities[rule % 3]!
        const pointer = random.below(8) === 0 ? '/info' : `/paths/~1p${at}/get`
        return { rule: `r${rule}`, category: 'design' as const, severity, message: 'm', advice: 'a', pointer }
      })
      const scores = spots.map(
        (_, end) =>
          scoreOf(
            countRules(spots.slice(0, end), () => 7),
            true,
          ).score,
      )
      expect(scores, `seed ${seed}`).toEqual(scores.toSorted((a, b) => b - a))
    }
  })
})

describe('a recommendation', () => {
  it('has advice although no finding of its rule is shown, and the first one raises the score most', async () => {
    const result = await lint(bytesOf(AWFUL))
    const gains = result.recommendations.map(({ gain }) => gain)
    expect(gains).toEqual(gains.toSorted((a, b) => b - a))
    expect(result.recommendations[0]?.gain).toBeGreaterThan(0)

    const read = await readToLint(bytesOf(AWFUL))
    if ('faults' in read) throw new Error('the document must be servable')
    const capped = await lintServable(bytesOf(AWFUL), read, { rules: {} }, { findingsMax: 1 })
    expect(capped.findings).toHaveLength(1)
    expect(capped.recommendations).toEqual(result.recommendations)
    expect(capped.recommendations.every(({ advice }) => advice.length > 0)).toBe(true)
  })
})

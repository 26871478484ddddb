import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { lint } from '../../../../src/governance/lint/lint.ts'
import { createRandom } from '../../../random.ts'
import { bytesOf, clean, query, type Json } from './clean-document.ts'

describe('the score', () => {
  it('never rises with one more finding, and the costs add up to the missing points', async () => {
    for (let seed = 1; seed <= 30; seed++) {
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

  it('does not depend on the number of operations without findings', async () => {
    const bad = clean({ operation: { summary: undefined } })
    const paths = bad['paths'] as Json
    const good = (clean()['paths'] as Json)['/gift-cards/{id}'] as Json
    const padded = {
      ...bad,
      paths: {
        ...paths,
        ...Object.fromEntries(
          Array.from({ length: 50 }, (_, index) => [
            `/pads-${index}/{id}`,
            { get: { ...(good['get'] as Json), operationId: `pad${index}` } },
          ]),
        ),
      },
    }

    expect((await lint(bytesOf(padded))).score).toBe((await lint(bytesOf(bad))).score)
  })

  it('of real documents matches the snapshot', async () => {
    const root = join(import.meta.dirname, '../../../..')
    const of = async (path: string) => {
      const { score, byCategory, costs, omitted } = await lint(readFileSync(join(root, path)))
      return { score, byCategory, costs: costs.map(({ rule, count }) => `${rule} ${count}`), omitted }
    }
    expect(await of('src/sample/payments.openapi.yaml')).toMatchSnapshot('sample')
    expect(await of('node_modules/@octokit/openapi/generated/api.github.com.json')).toMatchSnapshot('github')
  })
})

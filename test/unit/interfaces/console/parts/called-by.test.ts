import { globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { calledBy } from '../../../../../src/interfaces/console/parts/called-by.ts'

const CONSOLE = new URL('../../../../../src/interfaces/console/', import.meta.url).pathname
/** Lines that make several calls, or none that ends. */
const WITHOUT_CALL = /^tollgate (risks tail|requests tail|proxies deploy)\b/

describe('the call of a line', () => {
  it.each([
    ['tollgate consumers list --kind agent', { method: 'GET', url: '/v1/consumers?kind=agent', body: null }],
    [
      `tollgate consumers create --name "Mobile app" --kind application`,
      { method: 'POST', url: '/v1/consumers', body: '{"name":"Mobile app","kind":"application"}' },
    ],
    ['tollgate requests get 0197…', { method: 'GET', url: '/v1/requests/0197%E2%80%A6', body: null }],
    [
      `tollgate rulesets create --rules '{"info-contact":"off"}'`,
      { method: 'POST', url: '/v1/rulesets', body: '{"rules":{"info-contact":"off"}}' },
    ],
    [
      'tollgate products create --name Payments --apis payments-v1,payouts-v1',
      { method: 'POST', url: '/v1/products', body: '{"name":"Payments","apis":["payments-v1","payouts-v1"]}' },
    ],
    ['tollgate risks tail', null],
    ['curl https://example.com', null],
  ])('%s', (line, call) => {
    expect(calledBy(line)).toEqual(call)
  })

  it('is known for every line that the console shows', () => {
    const lines = globSync('**/*.{ts,tsx}', { cwd: CONSOLE }).flatMap((file) =>
      [
        ...readFileSync(CONSOLE + file, 'utf8').matchAll(
          /['`](tollgate [a-z]+ [a-z-]+(?: [^\n]*?)?)(?<!\\)['`][\],;)]/g,
        ),
      ].map(([, line = '']) => line.replaceAll(/\$\{[^}]*\}/g, 'ID').replaceAll("\\'", "'")),
    )
    expect(lines.length).toBeGreaterThan(20)
    expect(lines.filter((line) => !WITHOUT_CALL.test(line) && calledBy(line) === null)).toEqual([])
  })
})

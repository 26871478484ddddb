import { describe, expect, it } from 'vitest'
import { corsOf, readCorsPlan } from '../../../../src/boundary/plan/cors.ts'
import type { ProblemPointer } from '../../../../src/foundation/domain/problem.ts'

const ORIGIN = 'https://app.example'

function faultsOf(value: unknown): string[] {
  const faults: ProblemPointer[] = []
  expect(readCorsPlan(value, '/cors', faults)).toBeUndefined()
  return faults.map(({ pointer }) => pointer)
}

describe('readCorsPlan', () => {
  it('returns origins and names in one form, and each of them once', () => {
    const faults: ProblemPointer[] = []
    const value = {
      origins: ['HTTPS://App.example:443', ORIGIN, 'http://localhost:3000'],
      headers: ['X-Tenant', 'x-tenant'],
      exposeHeaders: ['X-Total'],
      credentials: true,
      maxAge: 0,
    }
    expect(readCorsPlan(value, '', faults)).toEqual({
      origins: [ORIGIN, 'http://localhost:3000'],
      headers: ['x-tenant'],
      exposeHeaders: ['x-total'],
      credentials: true,
      maxAge: 0,
    })
    expect(faults).toEqual([])
  })

  it.each([[{ origins: '*' }], [{ origins: [] }], [{ origins: '*', credentials: false }]])('accepts %j', (value) => {
    expect(readCorsPlan(value, '', [])).toEqual({ origins: value.origins })
  })

  it.each([
    [true, '/cors'],
    [null, '/cors'],
    [[ORIGIN], '/cors'],
    [{}, '/cors/origins'],
    [{ origins: ORIGIN }, '/cors/origins'],
    [{ origins: 'null' }, '/cors/origins'],
    [{ origins: ['null'] }, '/cors/origins/0'],
    [{ origins: ['*'] }, '/cors/origins/0'],
    [{ origins: [ORIGIN, 'https://*.example'] }, '/cors/origins/1'],
    [{ origins: [7] }, '/cors/origins/0'],
    [{ origins: Array.from({ length: 101 }, (_, index) => `https://a${index}.example`) }, '/cors/origins'],
    [{ origins: '*', credentials: true }, '/cors/credentials'],
    [{ origins: [ORIGIN], credentials: 'yes' }, '/cors/credentials'],
    [{ origins: [ORIGIN], headers: '*' }, '/cors/headers'],
    [{ origins: [ORIGIN], headers: ['*'] }, '/cors/headers/0'],
    [{ origins: [ORIGIN], headers: ['x\r\nSet-Cookie: a'] }, '/cors/headers/0'],
    [{ origins: [ORIGIN], exposeHeaders: ['a, b'] }, '/cors/exposeHeaders/0'],
    [{ origins: [ORIGIN], exposeHeaders: Array.from({ length: 51 }, () => 'x') }, '/cors/exposeHeaders'],
    [{ origins: [ORIGIN], maxAge: 86_401 }, '/cors/maxAge'],
    [{ origins: [ORIGIN], maxAge: -1 }, '/cors/maxAge'],
    [{ origins: [ORIGIN], maxAge: 1.5 }, '/cors/maxAge'],
    [{ origins: [ORIGIN], maxAge: '60' }, '/cors/maxAge'],
    [{ origins: [ORIGIN], origin: '*' }, '/cors/origin'],
    [JSON.parse(`{"origins":["${ORIGIN}"],"__proto__":{"credentials":true}}`), '/cors/__proto__'],
  ])('refuses %j at %s', (value, pointer) => {
    expect(faultsOf(value)).toEqual([pointer])
  })
})

describe('corsOf', () => {
  it('returns the setting of the policy as a whole, and that of the document without one', () => {
    const cors = { origins: [ORIGIN], credentials: true } as const
    expect(corsOf({ cors, policyCors: { origins: [] } })).toEqual({ origins: [] })
    expect(corsOf({ cors })).toBe(cors)
    expect(corsOf({})).toBe(null)
  })
})

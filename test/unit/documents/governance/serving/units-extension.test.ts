/** `x-tollgate-units` is compiled strictly, because it decides what callers pay. */

import { describe, expect, it } from 'vitest'
import { packDocument, unpackDocument } from '../../../../../src/boundary/plan/packed-plan.ts'
import { compile, faultsOf, get, RESPONSES } from './compiled-plans.ts'

const UNITS = 'x-tollgate-units'
const BY_HEADER = { per: 'response', unitsMicro: 1_000_000, header: 'x-usage-units', maxMicro: 10_000_000_000_000 }

describe('x-tollgate-units', () => {
  it.each([
    [{ per: 'call' }, undefined],
    [{ per: 'event' }, { per: 'event', unitsMicro: 1_000_000 }],
    [
      { per: 'event', units: 0.25, reserve: '3' },
      { per: 'event', unitsMicro: 250_000, reserveMicro: 3_000_000 },
    ],
    [{ per: 'response' }, BY_HEADER],
    [
      { per: 'response', header: 'X-Tokens', max: 999_999_999, reserve: 100 },
      { ...BY_HEADER, header: 'x-tokens', maxMicro: 999_999_999_000_000, reserveMicro: 100_000_000 },
    ],
  ])('%j is %j, of an operation and at the root', async (value, expected) => {
    for (const plan of [await compile(get({ [UNITS]: value })), await compile(get({}), { [UNITS]: value })]) {
      const unpacked = await unpackDocument(packDocument(plan))
      expect([plan.operations[0]?.units, unpacked.operations[0]?.units]).toEqual([expected, expected])
    }
  })

  it('of an operation replaces that of the root as a whole', async () => {
    const paths = { ...get({ [UNITS]: { per: 'call' } }), '/b': { get: { responses: RESPONSES } } }
    const plan = await compile(paths, { [UNITS]: { per: 'event', reserve: 2 } })
    expect(plan.operations.map(({ units }) => units?.per)).toEqual([undefined, 'event'])
  })

  it.each([
    ['event', ''],
    [null, ''],
    [[], ''],
    [{}, '/per'],
    [{ per: 'token' }, '/per'],
    [{ per: 'constructor' }, '/per'],
    [{ per: ['call'] }, '/per'],
    [{ per: 'call', reserve: 1 }, '/reserve'],
    [{ per: 'event', header: 'X-Units' }, '/header'],
    [{ per: 'event', units: 0 }, '/units'],
    [{ per: 'event', units: -1 }, '/units'],
    [{ per: 'event', units: 0.0000001 }, '/units'],
    [{ per: 'event', units: 1e9 }, '/units'],
    [{ per: 'event', units: null }, '/units'],
    [{ per: 'event', reserve: 0 }, '/reserve'],
    [{ per: 'event', reserve: true }, '/reserve'],
    [{ per: 'event', '~/': 1 }, '/~0~1'],
    [{ per: 'response', units: 2 }, '/units'],
    [{ per: 'response', max: 0 }, '/max'],
    [{ per: 'response', max: 1.5 }, '/max'],
    [{ per: 'response', max: 1e9 }, '/max'],
    [{ per: 'response', max: '5' }, '/max'],
    [{ per: 'response', header: '' }, '/header'],
    [{ per: 'response', header: 'X Units' }, '/header'],
    [{ per: 'response', header: 'X-Units\r\nA: b' }, '/header'],
    [{ per: 'response', header: 'X_Units' }, '/header'],
    [{ per: 'response', header: 'Content-Length' }, '/header'],
    [{ per: 'response', header: 'Set-Cookie' }, '/header'],
    [{ per: 'response', header: 'X-RU-Cost' }, '/header'],
    [{ per: 'response', header: 5 }, '/header'],
  ])('%j is refused with a pointer', async (value, member) => {
    const [own, ...others] = await faultsOf(compile(get({ [UNITS]: value })))
    expect(own?.split(' ')[0]).toBe(`/paths/~1a/get/${UNITS}${member}`)
    expect(others).toEqual([])
  })

  it('is refused once at the root, whatever the number of operations', async () => {
    const paths = { ...get({}), '/b': { get: { responses: RESPONSES } } }
    const faults = await faultsOf(compile(paths, { [UNITS]: { per: 'event', units: 0, reserve: 0 } }))
    expect(faults.map((fault) => fault.split(' ')[0])).toEqual([`/${UNITS}/reserve`, `/${UNITS}/units`])
  })
})

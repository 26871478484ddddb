import { describe, expect, it } from 'vitest'
import { showPlan } from '../../../../src/documents/opensla/plan-view.ts'
import { readPlan } from '../../../fixtures/test-declaration.ts'

const show = (text: string) => showPlan(readPlan(text))

describe('the plan of a declaration as people read it', () => {
  it('has a limit for each property, with its operations and its times', () => {
    const { limits } = show(`
limits:
  - name: peak
    operationIds: [readBook]
    validity: [{ name: night, start: 22:00, end: 06:30 }]
    totals: { period: 40 }
  - name: usual
    rate: { value: 100, duration: minute }
    concurrent: 0
`)
    expect(limits).toEqual([
      {
        ...{ name: 'peak', kind: 'total', value: 40, per: 'period', operationIds: ['readBook'] },
        validity: [{ start: '22:00:00', end: '06:30:00' }],
      },
      { name: 'usual', kind: 'rate', value: 100, per: '60 s', operationIds: null, validity: [] },
      { name: 'usual', kind: 'concurrent', value: 0, per: null, operationIds: null, validity: [] },
    ])
  })

  it('resolves short forms, and shows units as numbers and prices as decimals', () => {
    const shown = show(`
quotas: { period: Monthly, resourceUnits: 0.3, alertThreshold: 70.5, dailyQuota: 9 }
resourceUnits: { default: 0.1, operations: { readBook: 2.5 } }
price: { currency: EUR, perUnit: '0.000004' }
guarantees: { latency: { p95: 200ms }, availability: 99.9% }
`)
    expect(shown).toMatchObject({
      variant: null,
      limits: [{ name: 'dailyQuota', kind: 'total', value: 9, per: 'day', operationIds: null }],
      quota: { period: 'Monthly', resourceUnits: 0.3, alertPercent: 70.5 },
      resourceUnits: { default: 0.1, operations: { readBook: 2.5 } },
      price: { currency: 'EUR', perUnit: '0.000004' },
      promises: [{ name: 'guarantees', availabilityPercent: 99.9, throughput: [{ rps: null }] }],
    })
  })

  it('has neither a quota nor a price if none is declared, and a call costs one unit', () => {
    expect(show('limits: []')).toMatchObject({
      ...{ quota: null, price: null, limits: [], promises: [] },
      resourceUnits: { default: 1, operations: {} },
    })
    expect(show('quotas: { period: PayAsYouGo }').quota).toMatchObject({ resourceUnits: null })
  })
})

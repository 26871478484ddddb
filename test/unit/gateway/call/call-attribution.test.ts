import { describe, expect, it } from 'vitest'
import { toAttribution } from '../../../../src/gateway/call/call-attribution.ts'

const plan = { tenant: 'acme', api: 'pay-v1', revision: 7 }

describe('the attribution of a call', () => {
  it('names the revision of the plan, with and without a caller', () => {
    const grant = { consumer: 'con_1', consumerName: 'Shop', subscription: 'sub_1', variant: '' }
    const caller = { grant, agent: '', person: '' } as Parameters<typeof toAttribution>[2]
    expect(toAttribution(plan, 'pay', caller, null)).toMatchObject({ revision: 7, consumer: 'con_1' })
    expect(toAttribution(plan, '', null, null)).toMatchObject({ revision: 7, consumer: '' })
    expect(toAttribution(plan, 'pay', null, null, 'mcp')).toMatchObject({ revision: 7, channel: 'mcp' })
  })

  it('names none for a deployment older than revisions, as its earlier records do', () => {
    expect(toAttribution({ ...plan, revision: 0 }, 'pay', null, null)).not.toHaveProperty('revision')
  })
})

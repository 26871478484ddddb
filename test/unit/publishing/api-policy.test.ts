import { describe, expect, it } from 'vitest'
import { Problem } from '../../../src/domain/problem.ts'
import { ACME, openTestCatalogue, publishApi } from '../../fixtures/test-catalogue.ts'

const API = 'orders-v1'

describe('mcp in the policy of an API', () => {
  it('changes the active revision on every thread before the command returns', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    const { calls, prepared } = catalogue.gateway
    calls.length = 0
    await expect(catalogue.apiPolicies.put(ACME, API, { mcp: true })).resolves.toMatchObject({ mcp: true })
    expect(calls).toEqual([`prepare ${API} 1`, `swap ${API} 1`])
    expect(prepared.at(-1)?.plan.isMcpOn).toBe(true)

    await catalogue.apiPolicies.put(ACME, API, { mcp: true, exposure: 'Public' })
    expect(calls).toHaveLength(2)
    await catalogue.apiPolicies.put(ACME, API, {})
    expect(prepared.at(-1)?.plan.isMcpOn).toBeUndefined()
    expect(await catalogue.apiPolicies.get('acme', API)).toMatchObject({ mcp: false })
  })

  it('stays as it was if a thread refuses the revision', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    catalogue.gateway.onPrepare = () => Promise.reject(new Problem('specification_invalid', 'no'))
    await expect(catalogue.apiPolicies.put(ACME, API, { mcp: true })).rejects.toThrow('no')
    expect(await catalogue.apiPolicies.get('acme', API)).toMatchObject({ mcp: false })
  })
})

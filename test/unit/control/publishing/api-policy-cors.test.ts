import { describe, expect, it } from 'vitest'
import { Problem } from '../../../../src/foundation/domain/problem.ts'
import { ACME, openTestCatalogue, publishApi } from '../../../fixtures/test-catalogue.ts'

const API = 'orders-v1'
const ORIGIN = 'https://app.example'

describe('cors in the policy of an API', () => {
  it('changes the active revision on every thread before the command returns, and survives a restart', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    const { calls, prepared } = catalogue.gateway
    calls.length = 0
    const cors = { origins: ['https://App.example:443'] }
    await expect(catalogue.apiPolicies.put(ACME, API, { cors })).resolves.toMatchObject({ cors })
    expect(calls).toEqual([`prepare ${API} 1`, `swap ${API} 1`])
    expect(prepared.at(-1)?.plan.policyCors).toEqual({ origins: [ORIGIN] })
    // As it was written, so that a file that was applied does not differ from the service.
    expect(await catalogue.apiPolicies.get('acme', API)).toMatchObject({ cors })
    const [active] = await Array.fromAsync(catalogue.restart().proxies.activePlans())
    expect(active?.plan.policyCors).toEqual({ origins: [ORIGIN] })

    await catalogue.apiPolicies.put(ACME, API, { cors, exposure: 'Public' })
    expect(calls).toHaveLength(2)
    await catalogue.apiPolicies.put(ACME, API, {})
    expect(prepared.at(-1)?.plan.policyCors).toBeUndefined()
    expect(await catalogue.apiPolicies.get('acme', API)).toMatchObject({ cors: null })
  })

  it('is independent of mcp', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    await catalogue.apiPolicies.put(ACME, API, { mcp: true, cors: { origins: '*' } })
    expect(catalogue.gateway.prepared.at(-1)?.plan).toMatchObject({ isMcpOn: true, policyCors: { origins: '*' } })
    await catalogue.apiPolicies.put(ACME, API, { mcp: true })
    expect(catalogue.gateway.prepared.at(-1)?.plan).toMatchObject({ isMcpOn: true })
    expect(catalogue.gateway.prepared.at(-1)?.plan).not.toHaveProperty('policyCors')
  })

  it('is refused with a pointer if it is invalid, and nothing changes', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    const before = catalogue.gateway.calls.length
    const put = catalogue.apiPolicies.put(ACME, API, { cors: { origins: '*', credentials: true } })
    const problem = await put.catch((cause: unknown) => cause)
    expect(problem).toMatchObject({ code: 'payload_invalid', errors: [{ pointer: '/cors/credentials' }] })
    expect(catalogue.gateway.calls).toHaveLength(before)
    expect(await catalogue.apiPolicies.get('acme', API)).toMatchObject({ cors: null })
  })

  it('stays as it was if a thread refuses the revision', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    catalogue.gateway.onPrepare = () => Promise.reject(new Problem('specification_invalid', 'no'))
    await expect(catalogue.apiPolicies.put(ACME, API, { cors: { origins: [] } })).rejects.toThrow('no')
    expect(await catalogue.apiPolicies.get('acme', API)).toMatchObject({ cors: null })
  })

  it('is not part of the catalogue', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    await catalogue.apiPolicies.put(ACME, API, { cors: { origins: [ORIGIN] } })
    expect(await catalogue.apis.get('acme', API)).not.toHaveProperty('cors')
  })
})

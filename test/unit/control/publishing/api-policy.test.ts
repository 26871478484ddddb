import { describe, expect, it } from 'vitest'
import { Problem } from '../../../../src/foundation/domain/problem.ts'
import { COMPILED_KIND } from '../../../../src/control/publishing/compiled-document.ts'
import { ACME, base64, openTestCatalogue, orders, publishApi } from '../../../fixtures/test-catalogue.ts'

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

  it('serves descriptions only while it is on, and compiles the document once for each change', async () => {
    const catalogue = openTestCatalogue()
    const document = JSON.parse(orders().toString()) as { paths: Record<string, { get: object }> }
    const described = { ...document.paths['/listOrders']!.get, description: 'Lists what was ordered.' }
    const paths = { ...document.paths, '/listOrders': { get: described } }
    const specification = base64(Buffer.from(JSON.stringify({ ...document, paths })))
    const { id } = await catalogue.proxies.stage(ACME, { api: API, specification })
    await catalogue.proxies.activate(ACME, id)
    const compiled = async () => catalogue.registry.list(COMPILED_KIND, { limit: 2 })
    const served = () => catalogue.gateway.prepared.at(-1)?.plan.operations.map(({ description }) => description)
    const [plain] = await compiled()
    expect(served()).toEqual([undefined, undefined])

    await catalogue.apiPolicies.put(ACME, API, { mcp: true })
    expect(served()).toEqual(['Lists what was ordered.', undefined])
    const [withProse] = await compiled()
    expect(withProse).toMatchObject({ id: plain?.id, revision: 2, body: { hasProse: true } })
    expect(await Array.fromAsync(catalogue.restart().proxies.activePlans())).toHaveLength(1)
    expect(await compiled()).toEqual([withProse])

    await catalogue.apiPolicies.put(ACME, API, {})
    expect(served()).toEqual([undefined, undefined])
    expect(await compiled()).toMatchObject([{ revision: 3, body: { packed: plain?.body.packed } }])
  })

  it('stays as it was if a thread refuses the revision', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    catalogue.gateway.onPrepare = () => Promise.reject(new Problem('specification_invalid', 'no'))
    await expect(catalogue.apiPolicies.put(ACME, API, { mcp: true })).rejects.toThrow('no')
    expect(await catalogue.apiPolicies.get('acme', API)).toMatchObject({ mcp: false })
  })
})

import { beforeEach, describe, expect, it } from 'vitest'
import { publishApi } from '../../fixtures/published-api.ts'
import { GATEWAY_URL, BASE_URL, openTestPlatform, PAYMENTS, type TestPlatform } from '../../fixtures/test-platform.ts'

const API_POLICY = '/v1/apis/payments-v1/policy'

let platform: TestPlatform
let token: string

beforeEach(async () => {
  platform = await openTestPlatform()
  token = platform.token('acme')
  await publishApi(platform, token)
})

const send = (method: string, path: string, body?: object) =>
  platform.send(method, path, { token, ...(body !== undefined && { body }) })

describe('PATCH keeps what it leaves out', () => {
  it('of the policy of an API, which PUT replaces', async () => {
    await send('PUT', API_POLICY, { subscriptionApproval: 'Manual', exposure: 'Partner' })
    expect((await send('PATCH', API_POLICY, { mcp: true })).body).toMatchObject({
      subscriptionApproval: 'Manual',
      exposure: 'Partner',
      mcp: true,
    })
    expect((await send('PUT', API_POLICY, { mcp: true })).body).toMatchObject({ subscriptionApproval: 'Auto' })
  })

  it('of the policy of a tenant, also within `approval`', async () => {
    const approval = { minScore: 95, allowErrors: false, allowBreaking: false, exposures: ['Internal'] }
    await send('PUT', '/v1/policy', { approval, secondFactor: 'required' })
    expect((await send('PATCH', '/v1/policy', { approval: { minScore: 90 } })).body).toEqual({
      approval: { ...approval, minScore: 90 },
      ruleset: null,
      secondFactor: 'required',
    })
  })

  it('of a role, to which nobody adds a scope that they lack', async () => {
    await send('POST', '/v1/roles', { name: 'helper', scopes: ['apis:read'], labels: { a: 'b' } })
    const { body } = await send('PATCH', '/v1/roles/helper', { description: 'Helps' })
    expect(body).toMatchObject({ description: 'Helps', scopes: ['apis:read'], labels: { a: 'b' } })
    token = platform.token('acme', ['roles:write'])
    expect((await send('PATCH', '/v1/roles/helper', { scopes: ['apis:read', 'users:write'] })).status).toBe(403)
    expect((await send('PATCH', '/v1/roles/owner', { description: 'x' })).status).toBe(409)
  })

  it('and is refused for a policy that has changed since it was read', async () => {
    const { headers } = await send('GET', API_POLICY)
    await send('PATCH', API_POLICY, { mcp: true })
    const late = { token, body: { exposure: 'Public' }, headers: { 'if-match': headers['etag']! } }
    expect((await platform.send('PATCH', API_POLICY, late)).status).toBe(412)
  })
})

describe('staging', () => {
  const withUnits = Buffer.from(`${PAYMENTS.toString()}\nx-tollgate-units: { per: response }\n`).toString('base64')

  it('warns of units that no declaration counts', async () => {
    const document = { api: 'payments-v1', specification: withUnits }
    expect((await send('POST', '/v1/proxies', document)).body['warnings']).toEqual([])
    const other = Buffer.from(
      Buffer.from(withUnits, 'base64')
        .toString()
        .replace(/^ {2}title: .*$/m, '  title: Other'),
    )
    const backend = { url: 'https://backend.example' }
    const named = { api: 'other-v1', specification: other.toString('base64'), backend }
    const { body } = await send('POST', '/v1/proxies', named)
    const [warning] = body['warnings'] as readonly string[]
    expect(warning).toContain('`x-tollgate-units` counts nothing')
    expect((await send('POST', `/v1/proxies/${String(body['id'])}/activate`)).body['warnings']).toEqual([warning])
  })

  it('takes null for the backend of the document', async () => {
    const text = PAYMENTS.toString().replace(/^servers:[\s\S]*?(?=^\S)/m, '')
    const document = `${text}\nservers: [{ url: https://document.example }]\n`
    const specification = Buffer.from(document).toString('base64')
    const { body } = await send('POST', '/v1/proxies', { api: 'payments-v1', specification, backend: null })
    expect(body['staging']).toMatchObject({ backendSource: 'document', backend: { url: 'https://document.example' } })
    const retained = { api: 'payments-v1', fromRevision: 1, backend: null }
    expect((await send('POST', '/v1/proxies', retained)).status).toBe(400)
  })
})

it('The index names the parts of the service', async () => {
  expect((await platform.send('GET', '/')).body).toEqual({
    name: 'tollgate',
    version: '0.0.0',
    openapi: `${BASE_URL}/openapi.json`,
    console: `${BASE_URL}/console/`,
    gatewayUrl: GATEWAY_URL,
    riskUrl: BASE_URL,
    health: `${BASE_URL}/readyz`,
    metrics: `${BASE_URL}/metrics`,
  })
})

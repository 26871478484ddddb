import { describe, expect, it } from 'vitest'
import { publishApi } from '../../fixtures/published-api.ts'
import { openTestPlatform, type TestPlatform } from '../../fixtures/test-platform.ts'

const PASSWORD = 'a long password'

async function refusalOf(platform: TestPlatform, method: string, path: string, body: unknown): Promise<unknown> {
  const answer = await platform.send(method, path, { token: platform.token('acme'), body })
  const errors = answer.body['errors'] as { pointer: string }[] | undefined
  return [answer.status, answer.body['code'], errors?.map(({ pointer }) => pointer)]
}

const user = { username: 'grace', password: PASSWORD, name: 'Grace' }
const many = Array.from({ length: 101 }, (_, at) => `api${at}-v1`)

describe('an invalid body of people, products and providers', () => {
  it.each([
    ['POST', '/v1/users', { ...user, password: 'too short' }, '/password'],
    ['POST', '/v1/users', { ...user, password: 'x'.repeat(257) }, '/password'],
    ['POST', '/v1/users', { ...user, password: 'a\nlong password' }, '/password'],
    ['POST', '/v1/users', { ...user, username: '' }, '/username'],
    ['POST', '/v1/users', { ...user, username: 'x'.repeat(129) }, '/username'],
    ['POST', '/v1/users', { ...user, username: 'gra\u0000ce' }, '/username'],
    ['POST', '/v1/users', { ...user, admin: true }, '/admin'],
    ['POST', '/v1/products', { name: 'Bundle' }, '/apis'],
    ['POST', '/v1/products', { name: 'Bundle', apis: many }, '/apis'],
    ['POST', '/v1/products', { name: 'Bundle', apis: ['a-v1', 'a-v1'] }, '/apis'],
    ['POST', '/v1/products', { name: 'Bundle', apis: ['none-v1'] }, '/apis/0'],
    ['POST', '/v1/identityproviders', {}, '/issuer'],
    ['POST', '/v1/identityproviders', { issuer: 'ftp://idp.example' }, '/issuer'],
    ['POST', '/v1/identityproviders', { issuer: 'https://a:b@idp.example' }, '/issuer'],
    ['POST', '/v1/identityproviders', { issuer: 'https://idp.example?x' }, '/issuer'],
    ['POST', '/v1/identityproviders', { issuer: 'https://idp.example', audience: '' }, '/audience'],
    ['POST', '/v1/identityproviders', { issuer: 'https://idp.example', claims: { sub: 'x' } }, '/claims/sub'],
    ['POST', '/v1/identityproviders', { issuer: 'https://idp.example', apis: ['none-v1'] }, '/apis/0'],
    ['PUT', '/v1/apis/payments-v1/policy', { tokenAlgorithm: 'HS256' }, '/tokenAlgorithm'],
    ['PUT', '/v1/apis/payments-v1/policy', { credentialLifetimeDays: 0 }, '/credentialLifetimeDays'],
    ['PUT', '/v1/apis/payments-v1/policy', { credentialLifetimeDays: 1.5 }, '/credentialLifetimeDays'],
    ['POST', '/v1/signingkeys/rotate', { now: true }, '/now'],
  ])('%s %s %j is refused with a pointer', async (method, path, body, pointer) => {
    const platform = await openTestPlatform()
    await publishApi(platform, platform.token('acme'))
    expect(await refusalOf(platform, method, path, body)).toEqual([400, 'payload_invalid', [pointer]])
  })

  it.each([
    [{ overlapSeconds: -1 }, '/overlapSeconds'],
    [{ overlapSeconds: 31_536_001 }, '/overlapSeconds'],
    [{ overlap: 1 }, '/overlap'],
  ])('of a rotation, %j, is refused', async (body, pointer) => {
    const platform = await openTestPlatform()
    const { subscription } = await publishApi(platform, platform.token('acme'))
    const path = `/v1/subscriptions/${subscription}/credentials/rotate`
    expect(await refusalOf(platform, 'POST', path, body)).toEqual([400, 'payload_invalid', [pointer]])
  })
})

describe('people', () => {
  it('are created and listed once each, without their passwords', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const made = await platform.send('POST', '/v1/users', { token, body: user })
    expect(made).toMatchObject({ status: 201, body: { username: 'grace', name: 'Grace' } })
    const listed = await platform.send('GET', '/v1/users', { token })
    for (const { text } of [made, listed]) expect(text).not.toMatch(/password|scrypt/i)
    expect(await platform.send('POST', '/v1/users', { token, body: user })).toMatchObject({
      status: 409,
      body: { code: 'name_taken' },
    })
  })
})

describe('an identity provider', () => {
  it('that does not respond is refused with the reason', async () => {
    const platform = await openTestPlatform()
    platform.probe = (issuer) => `${issuer} answers 404.`
    const body = { issuer: 'https://idp.example' }
    const answer = await platform.send('POST', '/v1/identityproviders', { token: platform.token('acme'), body })
    expect(answer.body['errors']).toEqual([{ pointer: '/issuer', detail: 'https://idp.example answers 404.' }])
  })

  it('is registered once per tenant, and does not exist after its removal', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const body = { issuer: 'https://idp.example', claims: { person: 'email' }, audience: 'apis' }
    const made = await platform.send('POST', '/v1/identityproviders', { token, body })
    expect(made).toMatchObject({ status: 201, body: { ...body, apis: [] } })
    expect((await platform.send('POST', '/v1/identityproviders', { token, body })).status).toBe(409)
    const other = await platform.send('POST', '/v1/identityproviders', { token: platform.token('rival'), body })
    expect(other.status).toBe(201)

    const path = `/v1/identityproviders/${String(made.body['id'])}`
    expect((await platform.send('DELETE', path, { token })).status).toBe(204)
    expect((await platform.send('GET', path, { token })).status).toBe(404)
  })
})

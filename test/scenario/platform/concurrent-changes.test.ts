/** Changes with `If-Match`: of several that begin with the same version, one is made. */

import { expect, it } from 'vitest'
import { publishApi } from '../../fixtures/published-api.ts'
import { openTestPlatform } from '../../fixtures/test-platform.ts'

/** Base64 of a declaration with a limit per day. */
function declarationOf(day: number): string {
  const declaration = { opensla: '1.0.0', info: {}, limits: [{ name: 'all', totals: { day } }] }
  return Buffer.from(JSON.stringify(declaration)).toString('base64')
}

it('a declaration is answered 412 if another one of the API came into force since', async () => {
  const platform = await openTestPlatform()
  const token = platform.token('acme')
  await publishApi(platform, token)
  const inForce = '/v1/openslaspecs?limit=500&inForce=true&api=payments-v1'
  const tagOf = async () => (await platform.send('GET', inForce, { token })).headers['etag'] ?? ''
  const declare = (tag: string, day: number) =>
    platform.send('POST', '/v1/openslaspecs', {
      token,
      headers: { 'if-match': tag },
      body: { api: 'payments-v1', specification: declarationOf(day) },
    })
  const before = await tagOf()
  const both = await Promise.all([declare(before, 1), declare(before, 2)])
  expect(both.map(({ status }) => status)).toEqual([201, 412])
  expect(both[1]?.body).toMatchObject({ code: 'version_conflict' })
  expect((await declare(before, 3)).status).toBe(412)
  expect((await declare(await tagOf(), 4)).status).toBe(201)
  expect((await declare('*', 5)).status).toBe(201)
})

it('of several concurrent changes with the same If-Match exactly one is made', async () => {
  const platform = await openTestPlatform()
  const token = platform.token('acme')
  const { product } = await publishApi(platform, token)
  const path = `/v1/products/${product}`
  const tag = (await platform.send('GET', path, { token })).headers['etag'] ?? ''
  const headers = { 'if-match': tag }
  const answers = await Promise.all(
    ['One', 'Two', 'Three'].map((name) => platform.send('PUT', path, { token, headers, body: { name, apis: [] } })),
  )
  expect(answers.map(({ status }) => status)).toEqual([200, 412, 412])
  expect((await platform.send('GET', path, { token })).body['name']).toBe('One')
})

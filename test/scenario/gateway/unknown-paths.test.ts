import { expect, it } from 'vitest'
import { openTestGateway } from '../../fixtures/test-gateway.ts'

const HEADERS = { 'x-api-key': 'key-a' }

async function detailOf(handle: { readonly namesPaths?: boolean }, method: string, path: string): Promise<unknown> {
  const gateway = await openTestGateway({ backend: { origin: 'http://127.0.0.1:9' }, handle })
  const answer = await fetch(`http://127.0.0.1:${gateway.port}/things-v1${path}`, { method, headers: HEADERS })
  return ((await answer.json()) as { readonly detail: unknown }).detail
}

it('an unknown path is named only by a service for development, without its query', async () => {
  const path = '/secrets/abc?token=1'
  expect(await detailOf({}, 'GET', path)).toBe('things-v1 has no operation at this path.')
  const named = { namesPaths: true }
  expect(await detailOf(named, 'POST', path)).toBe('things-v1 has no operation at POST /secrets/abc.')
  expect(await detailOf(named, 'DELETE', '/keyed?token=1')).toMatch(/^\/keyed accepts [A-Z, ]+\.$/)
  const long = String(await detailOf(named, 'GET', `/${'a'.repeat(1_000)}`))
  expect(long.length).toBeLessThan(300)
})

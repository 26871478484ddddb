import { expect, it } from 'vitest'
import type { CompiledRevision } from '../../../src/gateway/call/revision.ts'
import type { GatewayServerOptions } from '../../../src/gateway/server.ts'
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

it('a call of no API is recorded for the only API of a service for development, and the answer names both', async () => {
  const recorded: string[] = []
  let only: CompiledRevision | null = null
  const detail = async (server: Partial<GatewayServerOptions>): Promise<unknown> => {
    const { port } = await openTestGateway({
      backend: { origin: 'http://127.0.0.1:9' },
      server,
      changeRevision: (revision) => (only = revision),
      append(call, record) {
        recorded.push(`${call.attribution.api} ${call.attribution.operation}`)
        record(call)
      },
    })
    const answer = await fetch(`http://127.0.0.1:${port}/stuff?token=1`, { headers: HEADERS })
    expect(answer.status).toBe(404)
    return ((await answer.json()) as { readonly detail: unknown }).detail
  }
  expect(await detail({})).toBe('No API with this name is published here.')
  expect(recorded).toEqual([])
  expect(await detail({ onlyRevision: () => only })).toBe(
    'No API is published at GET /stuff. The paths of things-v1 begin with /things-v1.',
  )
  expect(recorded).toEqual(['things-v1 '])
})

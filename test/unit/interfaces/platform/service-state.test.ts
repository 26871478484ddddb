import { describe, expect, it } from 'vitest'
import { openTestPlatform } from '../../../fixtures/test-platform.ts'

const PATHS = ['/v1/settings', '/v1/health']

describe('the state of the process', () => {
  it.each(PATHS)('at %s is for the tenant of the operator, whatever scopes another one has', async (path) => {
    const platform = await openTestPlatform()
    platform.settings.push({
      ...{
        name: 'DATA_DIR',
        inForce: '/data',
        fallback: './data',
        isDefault: false,
        isSecret: false,
        meaning: 'folder',
      },
    })
    const own = await platform.send('GET', path, { token: platform.token('acme') })
    expect(own).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } })
    const other = await platform.send('GET', path, { token: platform.token('rival') })
    expect(other).toMatchObject({ status: 403, body: { code: 'operation_forbidden' } })
    expect(other.text).not.toMatch(/DATA_DIR|spool/)
    const scopeless = await platform.send('GET', path, { token: platform.token('acme', ['usage:read']) })
    expect(scopeless).toMatchObject({ status: 403, body: { code: 'operation_forbidden' } })
    expect((await platform.send('GET', path)).status).toBe(401)
    expect((await platform.send('GET', `${path}?name=MASTER_KEY`, { token: platform.token('acme') })).status).toBe(400)
  })
})

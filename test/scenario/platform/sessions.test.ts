/** Sessions through the platform API: who may list and end them, one by one. */

import { describe, expect, it } from 'vitest'
import { NOW_MS, openTestPlatform } from '../../fixtures/test-platform.ts'

const HOUR_MS = 3_600_000

async function setUp(roles: readonly { role: string }[] = []) {
  const platform = await openTestPlatform()
  const { people, registry } = platform
  const admin = platform.token('acme')
  const body = { username: 'grace', password: 'a long password', name: 'Grace', roles }
  const made = await platform.send('POST', '/v1/users', { token: admin, body })
  const person = String(made.body['id'])
  const own = platform.token('acme', ['me:read', 'me:write'], NOW_MS + HOUR_MS, { person })
  let tokens = 0
  async function logIn(): Promise<string> {
    const jti = `tok_${++tokens}`
    const login = {
      ...{ tenant: 'acme', clientId: 'cli_1', credential: 'crd_1', api: 'orders-v1', scope: 'read' },
      ...{ person: { id: person, epoch: 0 }, opensUserinfo: false, loggedInAtMs: NOW_MS },
    }
    const begun = people.refreshGrants.begin(login, { jti, expiresAtMs: NOW_MS + HOUR_MS })
    await registry.commit({ tenant: 'acme', consumer: 'system', person }, 'refresh_grant.create', [begun.write])
    return jti
  }
  const send = (method: string, path: string, token = own) => platform.send(method, path, { token })
  const sessionsOf = async (path = '/v1/me/sessions', token = own) =>
    (await send('GET', path, token)).body['items'] as { id: string; clientId: string }[]
  return { platform, people, admin, person, own, logIn, send, sessionsOf }
}

describe('sessions', () => {
  it('are listed and ended by the person, one by one or all', async () => {
    const { people, logIn, send, sessionsOf } = await setUp()
    const first = await logIn()
    await logIn()
    const [one, two] = await sessionsOf()
    expect(one).toMatchObject({ clientId: 'cli_1', api: 'orders-v1', lastUsedAt: expect.any(String) })
    expect((await send('DELETE', `/v1/me/sessions/${one?.id}`)).status).toBe(204)
    expect(people.revokedTokens).toEqual(new Set([first]))
    expect(await sessionsOf()).toEqual([two])
    expect((await send('DELETE', `/v1/me/sessions/${one?.id}`)).status).toBe(404)
    expect((await send('DELETE', '/v1/me/sessions/__proto__')).status).toBe(404)
    expect((await send('DELETE', '/v1/me/sessions')).status).toBe(204)
    expect(await sessionsOf()).toEqual([])
  })

  it('are ended by an administrator who holds the rights of the person, which is audited', async () => {
    const { platform, admin, person, logIn, send, sessionsOf } = await setUp([{ role: 'admin' }])
    await logIn()
    const path = `/v1/users/${person}/sessions`
    const [session] = await sessionsOf(path, admin)
    const weak = platform.token('acme', ['users:read', 'users:write'])
    expect((await send('DELETE', `${path}/${session?.id}`, weak)).status).toBe(403)
    expect((await send('DELETE', `${path}/${session?.id}`, platform.token('rival'))).status).toBe(404)
    expect((await send('DELETE', `${path}/${session?.id}`, admin)).status).toBe(204)
    expect(await sessionsOf(path, admin)).toEqual([])
    const audit = await send('GET', '/v1/audit?action=refresh_grant.end', admin)
    expect(audit.body['items']).toMatchObject([{ actor: { consumer: expect.stringMatching(/^con_/) } }])
  })

  it('cannot be ended under the name of another person', async () => {
    const { platform, admin, person, logIn, send, sessionsOf } = await setUp()
    await logIn()
    const [session] = await sessionsOf()
    const made = await platform.send('POST', '/v1/users', {
      token: admin,
      body: { username: 'ada', password: 'a long password', name: 'Ada' },
    })
    const other = String(made.body['id'])
    expect((await send('DELETE', `/v1/users/${other}/sessions/${session?.id}`, admin)).status).toBe(404)
    expect((await send('DELETE', `/v1/users/${person}/sessions/${session?.id}`, admin)).status).toBe(204)
    expect((await send('DELETE', `/v1/users/${person}/sessions`, admin)).status).toBe(204)
  })
})

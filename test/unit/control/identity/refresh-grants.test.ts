import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { GivenToken } from '../../../../src/control/identity/authorization-codes.ts'
import {
  createRefreshGrants,
  REFRESH_GRANT_KIND,
  type RefreshLogin,
} from '../../../../src/control/identity/refresh-grants.ts'
import { RevisionConflict, type Registry } from '../../../../src/storage/store/registry.ts'
import { NOW_MS, openTestCatalogue } from '../../../fixtures/test-catalogue.ts'

const HOUR_MS = 3_600_000
const AUTHOR = { tenant: 'acme', consumer: 'system' }
const LOGIN: RefreshLogin = {
  ...{ tenant: 'acme', clientId: 'cli_1', credential: 'crd_1', api: 'orders-v1', scope: 'read' },
  ...{ person: { id: 'usr_1', epoch: 0 }, opensUserinfo: false, loggedInAtMs: NOW_MS },
}

function openGrants(wrap: (registry: Registry) => Registry = (registry) => registry) {
  const catalogue = openTestCatalogue()
  const { createId, vault } = catalogue
  const registry = wrap(catalogue.registry)
  const clock = { nowMs: () => catalogue.clock.nowMs }
  const revoked: string[] = []
  const faults: Error[] = []
  const grants = createRefreshGrants({
    ...{ registry, createId, clock, randomBytes, keyedHash: vault.keyedHash },
    async revoke({ jti }) {
      const fault = faults.pop()
      if (fault !== undefined) throw fault
      revoked.push(jti)
    },
  })
  const gives = (): GivenToken => ({ jti: createId('tok'), expiresAtMs: clock.nowMs() + HOUR_MS })
  async function begin(login: Partial<RefreshLogin> = {}) {
    const given = gives()
    const begun = grants.begin({ ...LOGIN, ...login }, given)
    await registry.commit(AUTHOR, 'test', [begun.write])
    await grants.trim({ ...LOGIN, ...login })
    return { ...begun, jti: given.jti }
  }
  const stored = () => catalogue.registry.list(REFRESH_GRANT_KIND, { limit: 99 })
  const forward = (ms: number) => void (catalogue.clock.nowMs += ms)
  return { grants, begin, gives, revoked, faults, stored, forward, registry: catalogue.registry }
}

describe('a refresh grant', () => {
  it('leaves nothing in the registry that can be redeemed', async () => {
    const { grants, begin, gives, registry } = openGrants()
    const { text } = await begin()
    const found = await grants.find(text)
    const next = found === null ? null : await grants.rotate(found, gives())
    const changes: string[] = []
    registry.watch(0, (change) => changes.push(JSON.stringify(change)))()
    expect(changes.length).toBeGreaterThan(1)
    for (const secret of [...text.split('.').slice(1), ...(next ?? '').split('.').slice(1)]) {
      expect(secret).toMatch(/^[\w-]{43}$/)
      expect(changes.join()).not.toContain(secret)
    }
  })

  it('has one token in force, also after a rotation whose answer was lost', async () => {
    const { grants, begin, gives } = openGrants()
    const { text } = await begin()
    const found = await grants.find(text)
    expect(found).toMatchObject({ isInForce: true })
    const next = found === null ? null : await grants.rotate(found, gives())
    expect(await grants.find(text)).toMatchObject({ isInForce: false })
    expect(await grants.find(next ?? '')).toMatchObject({ isInForce: true })
    expect(found === null ? '' : await grants.rotate(found, gives())).toBeNull()
  })

  it('ends the oldest ones above twenty of a person and a client, with their access tokens', async () => {
    const { begin, revoked, stored } = openGrants()
    const all = []
    for (let count = 0; count < 23; count++) all.push(await begin())
    await begin({ person: { id: 'usr_2', epoch: 0 } })
    await begin({ clientId: 'cli_2' })
    expect(revoked).toEqual(all.slice(0, 3).map(({ jti }) => jti))
    expect(await stored()).toHaveLength(22)
  })

  it('is deleted after it has expired', async () => {
    const { begin, stored, forward } = openGrants()
    for (let count = 0; count < 6; count++) await begin({ clientId: `cli_${count}` })
    forward(30 * 24 * HOUR_MS)
    for (let count = 0; count < 2; count++) await begin()
    expect(await stored()).toHaveLength(2)
  })

  it('ends also an access token that has expired by the clock of this node only', async () => {
    const { grants, begin, gives, forward, revoked } = openGrants()
    const { id, text, jti } = await begin()
    forward(HOUR_MS + 2_000)
    const found = await grants.find(text)
    const next = gives()
    if (found !== null) await grants.rotate(found, next)
    await grants.end(AUTHOR, id)
    expect(revoked).toEqual([jti, next.jti])
  })

  it('gives nothing more when its end was interrupted, and a repetition completes the end', async () => {
    const { grants, begin, faults, revoked, stored, gives } = openGrants()
    const { id, text, jti } = await begin()
    faults.push(new Error('a thread does not answer'))
    await expect(grants.end(AUTHOR, id)).rejects.toThrow('a thread does not answer')
    const found = await grants.find(text)
    expect(found && grants.expiryOf(found.grant)).toBeNull()
    await grants.end(AUTHOR, id)
    expect(revoked).toEqual([jti])
    expect(await stored()).toEqual([])
    await grants.end(AUTHOR, id)
    expect(found && (await grants.rotate(found, gives()))).toBeNull()
  })

  it('ends with the access token of a use that comes between', async () => {
    let between: (() => Promise<unknown>) | null = null
    const { grants, begin, gives, revoked } = openGrants((registry) => ({
      ...registry,
      async commit(author, action, writes) {
        const first = action === 'refresh_grant.end' ? between : null
        between = first === null ? between : null
        await first?.()
        return registry.commit(author, action, writes)
      },
    }))
    const { id, text, jti } = await begin()
    const found = await grants.find(text)
    const later = gives()
    between = async () => found && grants.rotate(found, later)
    await grants.end(AUTHOR, id)
    expect(revoked).toEqual([jti, later.jti])
  })

  it('passes on faults of the registry', async () => {
    const fault = new Error('the disk is gone')
    const { grants, begin } = openGrants((registry) => ({
      ...registry,
      commit: async (author, action, writes) =>
        action === 'refresh_grant.end' ? Promise.reject(fault) : registry.commit(author, action, writes),
    }))
    const { id } = await begin()
    await expect(grants.end(AUTHOR, id)).rejects.toBe(fault)
    expect(fault).not.toBeInstanceOf(RevisionConflict)
  })
})

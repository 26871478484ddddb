import { describe, expect, it } from 'vitest'
import { createAuthenticator } from '../../../../src/gateway/authentication/authenticate.ts'
import { createRevokedPeople } from '../../../../src/gateway/authentication/revoked-people.ts'
import { API, createAuthority, GATEWAY_URL, GRANT, NOW_MS } from '../../../fixtures/token-authority.ts'

const authority = createAuthority()
const END_MS = NOW_MS + 3_600_000

function start() {
  const authenticator = createAuthenticator({
    gatewayUrl: GATEWAY_URL,
    keyedHash: (text) => text,
    defer: (task) => task(),
    resolve: async () => GRANT,
    tenantOf: () => 'acme',
    refetch: async () => false,
    clock: { nowMs: () => NOW_MS },
    count: () => {},
    onUse: () => {},
  })
  authenticator.setKeys(authority.jwks)
  const call = async (jti: string, sub: string, named?: unknown) => {
    const claims = { jti, sub, ...(named !== undefined && { person_revocation: named }) }
    return authenticator.authenticate(`Bearer ${authority.token(claims)}`, undefined, API)
  }
  return { ...authenticator, call }
}

describe('a revoked person', () => {
  it('has no valid token but those that name the latest revocation, whatever their ids are', async () => {
    const { authenticate, revokePerson, call } = start()
    const known = `Bearer ${authority.token({ jti: 'tok_9', sub: 'usr_1', person_revocation: '' })}`
    expect(await authenticate(known, undefined, API)).toMatchObject({ person: 'usr_1' })
    revokePerson({ person: 'usr_1', id: 'tok_5', before: 'tok_5', untilMs: END_MS })

    const refused = { code: 'credential_invalid', grant: GRANT, person: 'usr_1' }
    expect(await authenticate(known, undefined, API)).toMatchObject(refused)
    for (const jti of ['tok_1', 'tok_9']) {
      for (const named of ['', 'tok_4', 'tok_6', '__proto__']) {
        expect(await call(jti, 'usr_1', named)).toMatchObject(refused)
      }
      expect(await call(jti, 'usr_1', 'tok_5')).toMatchObject({ person: 'usr_1' })
      expect(await call(jti, 'usr_2', '')).toMatchObject({ person: 'usr_2' })
    }
    revokePerson({ person: 'usr_1', id: 'tok_2', before: 'tok_5', untilMs: END_MS })
    expect(await call('tok_9', 'usr_1', 'tok_5')).toMatchObject(refused)
    expect(await call('tok_1', 'usr_1', 'tok_2')).toMatchObject({ person: 'usr_1' })
  })

  it('has no valid token of an earlier version up to the mark, while later ones stay valid', async () => {
    const { revokePerson, call } = start()
    revokePerson({ person: 'usr_1', id: 'tok_5', before: 'tok_5', untilMs: END_MS })
    for (const jti of ['tok_1', 'tok_5']) expect(await call(jti, 'usr_1')).toMatchObject({ code: 'credential_invalid' })
    expect(await call('tok_6', 'usr_1')).toMatchObject({ person: 'usr_1' })
    expect(await call('tok_1', 'usr_2')).toMatchObject({ person: 'usr_2' })
  })

  it.each([null, 5, ['tok_5'], { id: 'tok_5' }])('has no token that names %j as revocation', async (named) => {
    const { revokePerson, call } = start()
    revokePerson({ person: 'usr_1', id: 'tok_5', before: 'tok_5', untilMs: END_MS })
    expect(await call('tok_6', 'usr_1', named)).toMatchObject({ code: 'credential_invalid' })
  })
})

describe('the set of revoked people', () => {
  const ofPerson = (id: string, before = id) => ({ person: 'usr_1', id, before, untilMs: NOW_MS + 1_000 })
  const token = { subject: 'usr_1', jti: 'tok_1', revocation: undefined }

  it('keeps the latest revocation of each person, and the highest mark, until it expires', () => {
    let nowMs = NOW_MS
    const people = createRevokedPeople(() => nowMs)
    people.add(ofPerson('tok_5'))
    people.add(ofPerson('tok_4'))
    expect(people.live(nowMs)).toEqual([ofPerson('tok_4', 'tok_5')])
    expect(people.has(token, nowMs)).toBe(true)
    nowMs += 1_000
    expect(people.has(token, nowMs)).toBe(false)
    expect(people.live(0)).toEqual([])
  })

  it('refuses people above its bound, and accepts new ones when others expire', () => {
    let nowMs = NOW_MS
    const people = createRevokedPeople(() => nowMs, 10)
    const add = (at: number): boolean =>
      people.add({ ...ofPerson('tok_5'), person: `usr_${at}`, untilMs: nowMs + 1_000 })
    for (let at = 0; at < 10; at++) expect(add(at)).toBe(true)
    expect([add(10), add(0)]).toEqual([false, true])
    nowMs += 1_000
    for (let at = 20; at < 30; at++) expect(add(at)).toBe(true)
  })
})

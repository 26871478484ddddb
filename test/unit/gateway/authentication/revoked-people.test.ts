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
  })
  authenticator.setKeys(authority.jwks)
  const call = async (jti: string, sub: string) =>
    authenticator.authenticate(`Bearer ${authority.token({ jti, sub })}`, undefined, API)
  return { ...authenticator, call }
}

describe('a revoked person', () => {
  it('has no valid token up to the mark, seen before or not, while later tokens and others stay valid', async () => {
    const { authenticate, revokePerson, call } = start()
    const known = `Bearer ${authority.token({ jti: 'tok_3', sub: 'usr_1' })}`
    expect(await authenticate(known, undefined, API)).toMatchObject({ person: 'usr_1' })
    revokePerson({ person: 'usr_1', before: 'tok_5', untilMs: END_MS })

    const refused = { code: 'credential_invalid', grant: GRANT, person: 'usr_1' }
    expect(await authenticate(known, undefined, API)).toMatchObject(refused)
    for (const jti of ['tok_1', 'tok_5']) expect(await call(jti, 'usr_1')).toMatchObject(refused)
    expect(await call('tok_6', 'usr_1')).toMatchObject({ person: 'usr_1' })
    expect(await call('tok_1', 'usr_2')).toMatchObject({ person: 'usr_2' })
  })
})

describe('the set of revoked people', () => {
  it('keeps the latest mark of each person until it expires', () => {
    let nowMs = NOW_MS
    const people = createRevokedPeople(() => nowMs)
    people.add({ person: 'usr_1', before: 'tok_5', untilMs: NOW_MS + 1_000 })
    people.add({ person: 'usr_1', before: 'tok_4', untilMs: NOW_MS + 1_000 })
    expect(people.live(nowMs)).toEqual([{ person: 'usr_1', before: 'tok_5', untilMs: NOW_MS + 1_000 }])
    nowMs += 1_000
    expect(people.has('usr_1', 'tok_1', nowMs)).toBe(false)
    expect(people.live(0)).toEqual([])
  })

  it('refuses people above its bound, and accepts new ones when others expire', () => {
    let nowMs = NOW_MS
    const people = createRevokedPeople(() => nowMs, 10)
    const add = (at: number): boolean => people.add({ person: `usr_${at}`, before: 'tok_5', untilMs: nowMs + 1_000 })
    for (let at = 0; at < 10; at++) expect(add(at)).toBe(true)
    expect([add(10), add(0)]).toEqual([false, true])
    nowMs += 1_000
    for (let at = 20; at < 30; at++) expect(add(at)).toBe(true)
  })
})

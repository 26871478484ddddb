import { verify, createPublicKey, type JsonWebKeyInput } from 'node:crypto'
import { calculateJwkThumbprint, type JWK } from 'jose'
import { describe, expect, it } from 'vitest'
import { SIGNING_KEY_KIND, openKeyRing, type KeyRing } from '../../../../src/control/identity/key-ring.ts'
import { createVault } from '../../../../src/foundation/runtime/vault.ts'
import { AUTHOR, openTestOauthServer } from '../../../fixtures/token-endpoints.ts'

const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k', 'oth']
const kidsOf = (ring: KeyRing) => ring.publicKeys().keys.map(({ kid }) => kid)

function sign(ring: KeyRing): { kid: string; isGood: boolean } {
  const [head = '', claims = '', signature = ''] = ring.sign({ a: 1 }, 'ES256', 'at+jwt').split('.')
  const { kid } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { kid: string }
  const jwk = ring.publicKeys().keys.find((key) => key.kid === kid)
  if (jwk === undefined) return { kid, isGood: false }
  const key = createPublicKey({ key: jwk as JsonWebKeyInput['key'], format: 'jwk' })
  const bytes = Buffer.from(signature, 'base64url')
  return { kid, isGood: verify('sha256', Buffer.from(`${head}.${claims}`), { key, dsaEncoding: 'ieee-p1363' }, bytes) }
}

describe('the key ring', () => {
  it('publishes the public part of two keys per algorithm, named by their thumbprints (RFC 7638)', async () => {
    const { keyRing } = await openTestOauthServer()
    const { keys } = keyRing.publicKeys()

    expect(keys.map(({ alg }) => alg).sort()).toEqual(['ES256', 'ES256', 'RS256', 'RS256'])
    for (const key of keys) {
      expect(key.kid).toBe(await calculateJwkThumbprint(key as JWK))
      expect(Object.keys(key).filter((name) => PRIVATE_MEMBERS.includes(name))).toEqual([])
    }
  })

  it('stores private keys encrypted, with nothing of them in the change feed', async () => {
    const { registry } = await openTestOauthServer()
    const stored = JSON.stringify(await registry.list(SIGNING_KEY_KIND, { limit: 10 }))
    const changes: string[] = []
    registry.watch(0, (change) => changes.push(JSON.stringify(change)))()

    for (const text of [stored, ...changes]) expect(text).not.toMatch(/PRIVATE|"d":/)
  })

  it('is the same after a restart', async () => {
    const { keyRing, registry, vault, clock } = await openTestOauthServer()
    const again = await openKeyRing({ registry, vault, clock, author: AUTHOR })

    expect(kidsOf(again)).toEqual(kidsOf(keyRing))
    expect(sign(again).kid).toBe(sign(keyRing).kid)
  })

  it('refuses to open with another master key', async () => {
    const { registry, clock } = await openTestOauthServer()
    const vault = createVault(Buffer.alloc(32, 2))

    await expect(openKeyRing({ registry, vault, clock, author: AUTHOR })).rejects.toThrow(
      /^the master key does not open/,
    )
  })

  it('signs only with a key that was published before the rotation', async () => {
    const { keyRing } = await openTestOauthServer()
    for (let rotation = 0; rotation < 4; rotation++) {
      const published = kidsOf(keyRing)
      const before = sign(keyRing)
      await keyRing.rotate()
      const after = sign(keyRing)

      expect([before.isGood, after.isGood]).toEqual([true, true])
      expect(after.kid).not.toBe(before.kid)
      expect(published).toContain(after.kid)
    }
  })

  it('publishes a key until its last token has expired, and then deletes it', async () => {
    const { keyRing, registry, forward } = await openTestOauthServer()
    const { kid } = sign(keyRing)
    await keyRing.rotate()
    forward(3_600_000)
    expect(kidsOf(keyRing)).toContain(kid)
    forward(600_000)
    expect(kidsOf(keyRing)).not.toContain(kid)
    await keyRing.rotate()

    expect(await registry.get(SIGNING_KEY_KIND, kid)).toBeNull()
  })
})

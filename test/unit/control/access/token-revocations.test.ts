import { describe, expect, it } from 'vitest'
import { REVOKED_TOKEN_KIND, openTokenRevocations } from '../../../../src/control/access/token-revocations.ts'
import { CLOCK_MARGIN_MS } from '../../../../src/foundation/runtime/clock.ts'
import type { Change } from '../../../../src/storage/store/registry.ts'
import { openTestCatalogue, type TestCatalogue } from '../../../fixtures/test-catalogue.ts'

const HOUR_MS = 3_600_000
/** Until a token of an hour has expired by the clock of every node. */
const KEPT_MS = HOUR_MS + CLOCK_MARGIN_MS

async function open(catalogue: TestCatalogue) {
  const { registry, gateway } = catalogue
  return openTokenRevocations({ registry, gateway, clock: { nowMs: () => catalogue.clock.nowMs } })
}

const token = (catalogue: TestCatalogue, jti: string, credential = 'crd_1') => {
  return { tenant: 'acme', credential, jti, expiresAtMs: catalogue.clock.nowMs + HOUR_MS }
}

describe('a revoked token', () => {
  it('has reached every thread before the command returns, each time it is revoked', async () => {
    const catalogue = openTestCatalogue()
    const revocations = await open(catalogue)
    await revocations.revoke(token(catalogue, 'tok_1'))
    await revocations.revoke(token(catalogue, 'tok_1'))

    const notified = { jti: 'tok_1', untilMs: catalogue.clock.nowMs + KEPT_MS }
    expect(catalogue.gateway.revoked).toEqual([notified, notified])
    expect(revocations.isRevoked('tok_1')).toBe(true)
    expect(revocations.isRevoked('tok_2')).toBe(false)
  })

  it('is reported to the watchers after every thread has it', async () => {
    const catalogue = openTestCatalogue()
    const revocations = await open(catalogue)
    const reported: string[] = []
    revocations.watch((jti) => reported.push(`${jti} after ${catalogue.gateway.revoked.length}`))
    await revocations.revoke(token(catalogue, 'tok_1'))
    expect(reported).toEqual(['tok_1 after 1'])
  })

  it('stays revoked across a restart, until it has expired by all clocks', async () => {
    const catalogue = openTestCatalogue()
    await (await open(catalogue)).revoke(token(catalogue, 'tok_1'))
    const again = await open(catalogue.restart())
    expect(again.isRevoked('tok_1')).toBe(true)
    expect(again.live().map(({ jti }) => jti)).toEqual(['tok_1'])
    catalogue.clock.nowMs += KEPT_MS - 1
    expect(again.live().map(({ jti }) => jti)).toEqual(['tok_1'])
    catalogue.clock.nowMs += 1
    expect(again.live()).toEqual([])
  })

  it('is deleted some time after it has expired', async () => {
    const catalogue = openTestCatalogue()
    const revocations = await open(catalogue)
    for (const jti of ['tok_1', 'tok_2']) await revocations.revoke(token(catalogue, jti))
    catalogue.clock.nowMs += KEPT_MS
    await revocations.revoke(token(catalogue, 'tok_3'))
    expect((await catalogue.registry.list(REVOKED_TOKEN_KIND, { limit: 9 })).map(({ id }) => id)).toEqual(['tok_3'])
  })

  it('is refused above the limit of its credential, and no other revocation is evicted', async () => {
    const catalogue = openTestCatalogue()
    const untilMs = catalogue.clock.nowMs + HOUR_MS
    const body = { credential: 'crd_1', untilMs }
    const author = { tenant: 'acme', consumer: 'system' }
    for (let from = 0; from < 10_000; from += 1_000) {
      const ids = Array.from({ length: 1_000 }, (_, at) => `tok_${from + at}`)
      const writes = ids.map((id) => ({ kind: 'revoked_token', id, tenant: 'acme', expected: 0, body }))
      await catalogue.registry.commit(author, 'test', writes)
    }
    const revocations = await open(catalogue)

    await expect(revocations.revoke(token(catalogue, 'tok_new'))).rejects.toMatchObject({ code: 'unavailable' })
    expect(revocations.isRevoked('tok_0')).toBe(true)
    await revocations.revoke(token(catalogue, 'tok_other', 'crd_2'))
    expect(revocations.isRevoked('tok_other')).toBe(true)
  })
})

describe('a token that another node has revoked', () => {
  it('has reached every thread and the watchers, and is forgotten with its document', async () => {
    const catalogue = openTestCatalogue()
    const node = catalogue.restart()
    const here = await open(node)
    const changes: Change[] = []
    catalogue.registry.watch(0, (change) => changes.push(change))
    const there = await open(catalogue)
    await there.revoke(token(catalogue, 'tok_1'))
    const reported: string[] = []
    here.watch((jti) => reported.push(`${jti} after ${node.gateway.revoked.length}`))
    expect(here.isRevoked('tok_1')).toBe(false)
    for (const change of changes) await here.follow(change)
    expect(here.isRevoked('tok_1')).toBe(true)
    expect(here.live()).toEqual(there.live())
    expect(node.gateway.revoked).toEqual(catalogue.gateway.revoked)
    expect(reported).toEqual(['tok_1 after 1'])
    // Its removal by the other node frees the memory of this one.
    catalogue.clock.nowMs += KEPT_MS
    await there.revoke(token(catalogue, 'tok_2'))
    for (const change of changes) await here.follow(change)
    expect([here.isRevoked('tok_1'), here.isRevoked('tok_2')]).toEqual([false, true])
  })
})

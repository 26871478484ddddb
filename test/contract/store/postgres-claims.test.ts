import { afterAll, describe, expect, it } from 'vitest'
import type { Claims } from '../../../src/store/claims.ts'
import { StoreUnwritable } from '../../../src/store/unwritable.ts'
import { createPostgresServer } from '../../fixtures/postgres-server.ts'
import { executeSql, openTestPostgres } from '../../fixtures/test-postgres.ts'
import { claimsContract } from './claims.contract.ts'

const server = await createPostgresServer()
afterAll(() => server.remove())

claimsContract('postgres', async () => (await openTestPostgres(await server.createDatabase())).claims)

async function start(): Promise<{ url: string; one: Claims; other: Claims; expire: () => Promise<unknown> }> {
  const url = await server.createDatabase()
  const [{ claims: one }, { claims: other }] = [await openTestPostgres(url), await openTestPostgres(url)]
  const expire = () => executeSql(url, `UPDATE job_claim SET held_until = held_until - interval '1 minute'`)
  return { url, one, other, expire }
}

describe('claims of several nodes', () => {
  it('are granted to one of those that claim at once', async () => {
    const { one, other } = await start()
    const claims = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? one : other).claim('job', `n${index}`, 60_000)),
    )
    expect(claims.filter((claim) => claim !== null)).toHaveLength(1)
  })

  it('pass to another node after they expired, and the former holder cannot renew or release them', async () => {
    const { one, other, expire } = await start()
    const first = await one.claim('job', 'a', 60_000)
    expect(await other.claim('job', 'b', 60_000)).toBeNull()
    await expire()
    const second = await other.claim('job', 'b', 60_000)
    expect(second!.fence).toBeGreaterThan(first!.fence)
    expect(await one.renew(first!, 60_000)).toBe(false)
    await one.release(first!)
    expect(await one.claim('job', 'a', 60_000)).toBeNull()
  })

  it('last longer if they are renewed, also late as long as nobody else has claimed', async () => {
    const { one, other, expire } = await start()
    const claim = await one.claim('job', 'a', 60_000)
    await expire()
    expect(await one.renew(claim!, 60_000)).toBe(true)
    expect(await other.claim('job', 'b', 60_000)).toBeNull()
  })

  it('are free at once after a release; each name for itself', async () => {
    const { one, other } = await start()
    const claim = await one.claim('job', 'a', 60_000)
    expect(await other.claim('job 2', 'b', 60_000)).not.toBeNull()
    await one.release(claim!)
    expect(await other.claim('job', 'b', 60_000)).not.toBeNull()
  })

  it('outlive a server that is killed, and are refused while it is away', async () => {
    const { one, other } = await start()
    const claim = await one.claim('job', 'a', 60_000)
    await server.stop()
    await expect(one.renew(claim!, 60_000)).rejects.toBeInstanceOf(StoreUnwritable)
    await server.start()
    expect(await other.claim('job', 'b', 60_000)).toBeNull()
    expect(await one.renew(claim!, 60_000)).toBe(true)
  })
})

// @module-tag postgres

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createClaimedJob } from '../../../src/control/command/claimed-job.ts'
import { systemClock } from '../../../src/foundation/runtime/clock.ts'
import type { Claims } from '../../../src/storage/store/claims.ts'
import { StoreUnwritable } from '../../../src/storage/store/unwritable.ts'
import { executeSql, openTestPostgres } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { claimsContract } from './claims.contract.ts'

const server = usePostgres()

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

describe('a job of a node that is killed', () => {
  it('is started by another node after its claim has expired, and not before', async () => {
    const { url, other } = await start()
    const ttlMs = 3_000
    const program = join(import.meta.dirname, 'claiming-process.ts')
    const child = spawn(process.execPath, [program, url, 'killed', String(ttlMs)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    const { promise: started, resolve } = Promise.withResolvers<boolean>()
    const job = createClaimedJob({
      claims: other,
      name: 'job',
      holder: 'next',
      clock: systemClock,
      ttlMs,
      create: () => ({
        async start() {
          const { rows } = await executeSql(url, `SELECT holder, fence FROM job_claim`)
          resolve(rows[0]?.['holder'] === 'next' && Number(rows[0]['fence']) === 2)
        },
        stop() {},
      }),
      onFailed: () => {},
    })
    onTestFinished(() => job.stop())
    await job.start()
    const { rows } = await executeSql(url, `SELECT holder FROM job_claim`)
    expect(rows).toEqual([{ holder: 'killed' }])
    child.kill('SIGKILL')
    expect(await started).toBe(true)
  })
})

// @module-tag postgres

import { describe, expect, it } from 'vitest'
import type { Postgres } from '../../../src/storage/store/postgres/open-postgres.ts'
import { StoreUnwritable } from '../../../src/storage/store/unwritable.ts'
import { openBehindProxy } from '../../fixtures/faulty-proxy.ts'
import { executeSql, openTestPostgres } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { NODE } from './nodes.contract.ts'

const server = usePostgres()

/** Joins the list of nodes, as a start does, and registers `identity` for its leases. */
async function start(url: string, name: string, identity: string): Promise<Postgres> {
  const postgres = await openTestPostgres(url)
  await postgres.nodes.register({ ...NODE, incarnation: `i-${name}`, name })
  await postgres.leaseEpochs.register(identity, `i-${name}`)
  return postgres
}

/** Makes all ends of leases happen `interval` earlier. */
const passTime = (url: string, interval: string): Promise<unknown> =>
  executeSql(url, `UPDATE lease_identity SET ended_at = ended_at - interval '${interval}'`)

async function membersOf({ leaseEpochs }: Postgres): Promise<readonly string[]> {
  return [...(await leaseEpochs.open(0)).members].sort()
}

describe('The generations of leases', () => {
  it('are numbered from 1, and only the first one is the first', async () => {
    const one = await start(await server.createDatabase(), 'a', 'lease-a')
    expect(await one.leaseEpochs.open(0)).toEqual({ epoch: 1, isFirst: true, members: ['lease-a'], ended: {} })
    expect(await one.leaseEpochs.open(0)).toEqual({ epoch: 2, isFirst: false, members: ['lease-a'], ended: {} })
  })

  it('exceed the number that Redis knows, which is higher after a restore of PostgreSQL', async () => {
    const { leaseEpochs } = await start(await server.createDatabase(), 'a', 'lease-a')
    expect((await leaseEpochs.open(40)).epoch).toBe(41)
    expect((await leaseEpochs.open(7)).epoch).toBe(42)
  })

  it('have different numbers if several nodes begin them at the same time, and one is the first', async () => {
    const url = await server.createDatabase()
    const nodes = await Promise.all(['a', 'b', 'c'].map((name) => start(url, name, `lease-${name}`)))
    const opened = await Promise.all(nodes.flatMap(({ leaseEpochs }) => [leaseEpochs.open(0), leaseEpochs.open(0)]))
    expect(opened.map(({ epoch }) => epoch).sort()).toEqual([1, 2, 3, 4, 5, 6])
    expect(opened.filter(({ isFirst }) => isFirst).map(({ epoch }) => epoch)).toEqual([1])
  })

  it('are never numbered twice if the outcome of a commit is unknown', async () => {
    const url = await server.createDatabase()
    const one = await start(url, 'a', 'lease-a')
    const { proxy, url: proxied } = await openBehindProxy(url)
    const other = await openTestPostgres(proxied)
    // The server commits; the answer to COMMIT never arrives.
    let hasCommitted = false
    proxy.judge((direction, data) => {
      hasCommitted ||= direction === 'down' && data.includes('COMMIT')
      return hasCommitted ? 'drop' : 'pass'
    })
    const lost = other.leaseEpochs.open(0)
    await expect.poll(() => hasCommitted).toBe(true)
    proxy.cut()
    await expect(lost).rejects.toBeInstanceOf(StoreUnwritable)
    expect(await one.leaseEpochs.open(0)).toMatchObject({ epoch: 2, isFirst: false })
  })
})

describe('The members of a generation', () => {
  it('include a node that crashed, for as long as it is in the list', async () => {
    const url = await server.createDatabase()
    const one = await start(url, 'a', 'lease-a')
    const crashed = await start(url, 'b', 'lease-b')
    await crashed.close()
    await passTime(url, '1 day')
    expect(await membersOf(one)).toEqual(['lease-a', 'lease-b'])
  })

  it.each([
    ['left', (_: Postgres, other: Postgres) => other.nodes.leave()],
    [
      'was removed',
      async (one: Postgres, other: Postgres, url: string) => {
        await other.close()
        await executeSql(url, `UPDATE node SET heard_at = heard_at - interval '1 minute' WHERE name = 'b'`)
        expect(await one.nodes.remove('b')).toBe('removed')
      },
    ],
    ['took another identity', async (_: Postgres, other: Postgres) => other.leaseEpochs.register('new', 'i-b')],
  ])('include the identity of a node that %s, for an hour', async (_, end) => {
    const url = await server.createDatabase()
    const [one, other] = [await start(url, 'a', 'lease-a'), await start(url, 'b', 'lease-b')]
    await end(one, other, url)
    expect(await membersOf(one)).toContain('lease-b')
    await passTime(url, '59 minutes')
    expect(await membersOf(one)).toContain('lease-b')
    await passTime(url, '2 minutes')
    expect(await membersOf(one)).not.toContain('lease-b')
  })

  it('include a node again that starts again with the same identity', async () => {
    const url = await server.createDatabase()
    const [one, other] = [await start(url, 'a', 'lease-a'), await start(url, 'b', 'lease-b')]
    await other.nodes.leave()
    await other.close()
    await passTime(url, '1 day')
    expect(await membersOf(one)).toEqual(['lease-a'])
    await start(url, 'b', 'lease-b')
    expect(await membersOf(one)).toEqual(['lease-a', 'lease-b'])
  })

  it('include a live node that was removed, and returned to the list by its report', async () => {
    const url = await server.createDatabase()
    const [one, other] = [await start(url, 'a', 'older'), await start(url, 'b', 'lease-b')]
    await one.leaseEpochs.register('lease-a', 'i-a')
    await executeSql(url, 'DELETE FROM node')
    one.nodes.serve(1)
    other.nodes.serve(1)
    await expect.poll(async () => (await one.nodes.list()).length).toBe(2)
    await passTime(url, '2 hours')
    await executeSql(url, `UPDATE lease_identity SET ended_at = ended_at - interval '1 day' WHERE identity = 'older'`)
    expect(await membersOf(one)).toEqual(['lease-a', 'lease-b'])
    expect(Object.keys((await one.leaseEpochs.open(0)).ended)).not.toContain('lease-a')
  })

  it('say how long ago they ended', async () => {
    const url = await server.createDatabase()
    const [one, other] = [await start(url, 'a', 'lease-a'), await start(url, 'b', 'lease-b')]
    await other.nodes.leave()
    await passTime(url, '10 minutes')
    const { ended } = await one.leaseEpochs.open(0)
    expect(Object.keys(ended)).toEqual(['lease-b'])
    expect(Math.floor(ended['lease-b']! / 60_000)).toBe(10)
  })
})

describe('What a node hands over when it leaves', () => {
  const windowsOf = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ key: `k ${index} \0`, startMs: 1, endMs: 2, claim: index }))

  it('is read by the others, in order, until its node starts again with the identity', async () => {
    const url = await server.createDatabase()
    const [one, other] = [await start(url, 'a', 'lease-a'), await start(url, 'b', 'lease-b')]
    const left = { identity: 'lease-b', session: 3, windows: windowsOf(450) }
    await other.leaseEpochs.handOver({ ...left, windows: windowsOf(3) })
    await other.leaseEpochs.handOver(left)
    await one.leaseEpochs.handOver({ identity: 'lease-a', session: 1, windows: [] })
    expect(await one.leaseEpochs.handedOver()).toEqual([{ identity: 'lease-a', session: 1, windows: [] }, left])
    await other.leaseEpochs.register('lease-b', 'i-b')
    expect(await one.leaseEpochs.handedOver()).toHaveLength(1)
    await executeSql(url, `UPDATE lease_hand_over SET at = at - interval '61 minutes'`)
    expect(await one.leaseEpochs.handedOver()).toEqual([])
  })

  it('has the name of the node, which nobody lists any more', async () => {
    const url = await server.createDatabase()
    const [one, other] = [await start(url, 'a', 'lease-a'), await start(url, 'b', 'lease-b')]
    await other.nodes.leave()
    expect(await one.leaseEpochs.namesOf(['lease-b', 'lease-a', 'unknown'])).toEqual(['a', 'b'])
  })
})

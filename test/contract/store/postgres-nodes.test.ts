// @module-tag postgres
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { StartRefused } from '../../../src/foundation/runtime/start-refused.ts'
import { UNKNOWN_NODES } from '../../../src/storage/store/nodes.ts'
import { COMMIT_LOCK } from '../../../src/storage/store/postgres/lock-numbers.ts'
import type { Postgres, PostgresOptions } from '../../../src/storage/store/postgres/open-postgres.ts'
import { StoreUnwritable } from '../../../src/storage/store/unwritable.ts'
import { openBehindProxy } from '../../fixtures/faulty-proxy.ts'
import { executeSql, openTestPostgres } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { NODE, nodesContract } from './nodes.contract.ts'
import { AUTHOR, write } from './registry-contract-helpers.ts'

const server = usePostgres()

nodesContract('postgres', async () => (await openTestPostgres(await server.createDatabase())).nodes)

async function start(url: string, name: string, options: Partial<PostgresOptions> = {}): Promise<Postgres['nodes']> {
  const { nodes } = await openTestPostgres(url, options)
  await nodes.register({ ...NODE, incarnation: `i-${name}`, name })
  return nodes
}

describe('several nodes', () => {
  it('acknowledge a position once all of them serve it', async () => {
    const url = await server.createDatabase()
    const all = [await start(url, 'a'), await start(url, 'b'), await start(url, 'c')]
    let pending: readonly string[] | null = null
    const acknowledged = all[0]!.acknowledged(5, 60_000).then((names) => (pending = names))
    all[0]!.serve(5)
    all[1]!.serve(6)
    await expect.poll(async () => (await all[0]!.list()).map(({ position }) => position)).toEqual([5, 6, 0])
    expect(pending).toBeNull()
    all[2]!.serve(5)
    await acknowledged
    expect(pending).toEqual([])
  })
})

describe('a second process', () => {
  it('of the same incarnation, or of the same name, is refused while the first one lives', async () => {
    const url = await server.createDatabase()
    const first = await start(url, 'a')
    const { nodes: second } = await openTestPostgres(url, { registerRefusedAfterMs: 0 })
    const copy = second.register({ ...NODE, incarnation: 'i-a', name: 'b' })
    await expect(copy).rejects.toBeInstanceOf(StartRefused)
    await expect(copy).rejects.toThrow('copy of this DATA_DIR')
    const namesake = second.register({ ...NODE, incarnation: 'i-b', name: 'a' })
    await expect(namesake).rejects.toThrow('another node is named a; set NODE_NAME')
    const renewed = second.register({ ...NODE, incarnation: 'i-c', lineage: 'i-a', name: 'c' })
    await expect(renewed).rejects.toThrow('copy of this DATA_DIR')
    await first.leave()
    await second.register({ ...NODE, incarnation: 'i-b', name: 'a' })
    expect(await second.list()).toMatchObject([{ incarnation: 'i-b', name: 'a' }])
  })
})

/** Holds all connections that commits can have, until the returned function is called. */
async function occupyCommands({ registry }: Postgres, url: string): Promise<() => Promise<void>> {
  const blocker = new pg.Client(url)
  blocker.on('error', () => {})
  await blocker.connect()
  await blocker.query(`BEGIN; SELECT pg_advisory_xact_lock(${COMMIT_LOCK})`)
  const commits = Promise.allSettled(
    Array.from({ length: 20 }, (_, index) => registry.commit(AUTHOR, 'make', [write(`d${index}`, 0, 1)])),
  )
  return async () => {
    await blocker.end()
    await commits
  }
}

const silence = (url: string, name: string): Promise<unknown> =>
  executeSql(url, `UPDATE node SET heard_at = heard_at - interval '1 minute' WHERE name = '${name}'`)

describe('the progress of a node', () => {
  it('is the distance to the end of the registry that its last report saw', async () => {
    const url = await server.createDatabase()
    const { nodes, registry } = await openTestPostgres(url)
    await nodes.register(NODE)
    expect(nodes.progress()).toMatchObject({ lag: 0, silentNodes: 0 })
    for (const id of ['a', 'b', 'c']) await registry.commit(AUTHOR, 'make', [write(id, 0, 1)])
    await expect.poll(() => nodes.progress().lag, { timeout: 10_000 }).toBe(3)
    nodes.serve(2)
    expect(nodes.progress().lag).toBe(1)
    nodes.serve(await registry.end())
    expect(nodes.progress().lag).toBe(0)
  })

  it('counts the other nodes that are silent, and not itself', async () => {
    const url = await server.createDatabase()
    const one = await start(url, 'a')
    const dead = await openTestPostgres(url)
    await dead.nodes.register({ ...NODE, incarnation: 'i-b', name: 'b' })
    await dead.close()
    await silence(url, 'b')
    await silence(url, 'a')
    one.serve(1)
    await expect.poll(() => one.progress().silentNodes, { timeout: 10_000 }).toBe(1)
    expect(await one.remove('b')).toBe('removed')
    await expect.poll(() => one.progress().silentNodes, { timeout: 10_000 }).toBe(0)
  })
})

describe('a node that cannot be heard', () => {
  it('is not waited for once it has been silent for too long; its name is returned until it is removed', async () => {
    const url = await server.createDatabase()
    const one = await start(url, 'a')
    const dead = await openTestPostgres(url)
    await dead.nodes.register({ ...NODE, incarnation: 'i-b', name: 'b' })
    await dead.close()
    await silence(url, 'b')
    one.serve(5)
    expect(await one.acknowledged(5, 30_000)).toEqual(['b'])
    expect(await one.list()).toMatchObject([
      { name: 'a', isLive: true },
      { name: 'b', isLive: false },
    ])
    expect(await one.remove('b')).toBe('removed')
    expect(await one.acknowledged(5)).toEqual([])
  })

  it('cannot be removed, and is waited for, until it refuses calls without the registry', async () => {
    const url = await server.createDatabase()
    const one = await start(url, 'a')
    const cut = await openTestPostgres(url, { staleAfterMs: 90_000 })
    await cut.nodes.register({ ...NODE, incarnation: 'i-b', name: 'b' })
    await cut.close()
    one.serve(5)
    await silence(url, 'b')
    expect(await one.remove('b')).toBe('live')
    const waiting = one.acknowledged(5)
    await expect.poll(() => one.list()).toMatchObject([{ staleAfterMs: null }, { isLive: false, staleAfterMs: 90_000 }])
    await silence(url, 'b')
    expect(await waiting).toEqual(['b'])
    expect(await one.remove('b')).toBe('removed')
  })

  it('ends no wait by its removal alone while another live node has not reported', async () => {
    const url = await server.createDatabase()
    const [one, slow] = [await start(url, 'a'), await start(url, 'c')]
    const dead = await openTestPostgres(url)
    await dead.nodes.register({ ...NODE, incarnation: 'i-b', name: 'b' })
    await dead.close()
    await silence(url, 'b')
    one.serve(5)
    const acknowledged = one.acknowledged(5, 30_000)
    expect(await one.remove('b')).toBe('removed')
    slow.serve(5)
    expect(await acknowledged).toEqual([])
  })

  it('is named after the limit if it is heard from, but makes no progress', async () => {
    const url = await server.createDatabase()
    const [one] = [await start(url, 'a'), await start(url, 'stuck')]
    one.serve(5)
    expect(await one.acknowledged(5, 1_500)).toEqual(['stuck'])
    expect(await one.list()).toMatchObject([
      { name: 'a', isLive: true },
      { name: 'stuck', isLive: true },
    ])
  })

  it('returns to the list by its next report, if it was removed while it was silent', async () => {
    const url = await server.createDatabase()
    const one = await start(url, 'a')
    await executeSql(url, 'DELETE FROM node')
    one.serve(3)
    await expect.poll(() => one.list()).toMatchObject([{ name: 'a', position: 3 }])
  })
})

describe('the report of a node', () => {
  it('does not wait for commands that wait', async () => {
    const url = await server.createDatabase()
    const postgres = await openTestPostgres(url)
    await postgres.nodes.register(NODE)
    const release = await occupyCommands(postgres, url)
    postgres.nodes.serve(9)
    expect(await postgres.nodes.acknowledged(9, 30_000)).toEqual([])
    await release()
  })

  it('continues on a new connection, with the lock of its incarnation, after the old one was lost', async () => {
    const url = await server.createDatabase()
    const { proxy, url: proxied } = await openBehindProxy(url)
    let replaced = 0
    const one = await start(proxied, 'a', { onReplaced: () => replaced++ })
    proxy.cut()
    const copy = await openTestPostgres(url, { registerRefusedAfterMs: 0 })
    const isLocked = async () =>
      (await executeSql(url, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted`)).rows[0]?.[
        'count'
      ]
    await expect.poll(isLocked).toBe('1')
    await expect(copy.nodes.register({ ...NODE, incarnation: 'i-a', name: 'a' })).rejects.toBeInstanceOf(StartRefused)
    one.serve(4)
    await expect.poll(() => one.list(), { timeout: 5_000 }).toMatchObject([{ name: 'a', position: 4, isLive: true }])
    expect(replaced).toBe(0)
  })

  it('continues after the server was killed', async () => {
    const url = await server.createDatabase()
    const [one, other] = [await start(url, 'a'), await start(url, 'b')]
    await server.stop()
    await expect(one.list()).rejects.toBeInstanceOf(StoreUnwritable)
    expect(await one.acknowledged(5, 100)).toEqual([UNKNOWN_NODES])
    await server.start()
    one.serve(5)
    other.serve(5)
    await expect
      .poll(() => one.list().catch(() => []), { timeout: 10_000 })
      .toMatchObject([
        { name: 'a', position: 5, isLive: true },
        { name: 'b', position: 5, isLive: true },
      ])
  })
})

describe('a read', () => {
  it('does not wait for commands that wait', async () => {
    const url = await server.createDatabase()
    const postgres = await openTestPostgres(url)
    const release = await occupyCommands(postgres, url)
    expect(await postgres.registry.end()).toBe(0)
    await release()
  })
})

describe('a request for slices', () => {
  it('does not wait for commands that wait', async () => {
    const url = await server.createDatabase()
    const postgres = await openTestPostgres(url)
    await postgres.nodes.register(NODE)
    const release = await occupyCommands(postgres, url)
    expect(await postgres.leases.send({ type: 'hello' })).toMatchObject({ type: 'generation' })
    await release()
  })
})

describe('a server that accepts connections and never answers', () => {
  it('delays no wait for an acknowledgement beyond its limit, and no end of a node', async () => {
    const url = await server.createDatabase()
    const { proxy, url: proxied } = await openBehindProxy(url)
    const one = await openTestPostgres(proxied)
    await one.nodes.register(NODE)
    const other = await start(url, 'b')
    one.nodes.serve(1)
    other.serve(1)
    expect(await one.nodes.acknowledged(1)).toEqual([])
    proxy.judge(() => 'drop')
    expect(await one.nodes.acknowledged(5, 200)).toEqual(['b', 'one', UNKNOWN_NODES])
    await one.nodes.leave()
    await one.close()
    expect(await other.list()).toHaveLength(2)
  })
})

describe('a node', () => {
  it('uses at most ten connections, also while all its commands wait and it stops', async () => {
    const url = await server.createDatabase()
    const postgres = await openTestPostgres(url, { nodeName: 'counted' })
    await postgres.nodes.register(NODE)
    postgres.registry.watch(0, () => {})
    await postgres.claims.claim('job', 'a', 1_000)
    await postgres.attempts.take('00', { max: 1, windowMs: 1_000, isSliding: false })
    const release = await occupyCommands(postgres, url)
    postgres.beginStop()
    await Promise.all([postgres.leases.send({ type: 'hello' }), postgres.registry.end()])
    const used = `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tollgate counted'`
    const count = async () => Number((await executeSql(url, used)).rows[0]?.['count'])
    await expect.poll(count).toBe(10)
    await release()
  })

  it('is stale until it has served the end of the feed', async () => {
    const url = await server.createDatabase()
    const { registry, nodes } = await openTestPostgres(url)
    await registry.commit(AUTHOR, 'make', [write('a', 0, 1)])
    await nodes.register(NODE)
    expect(nodes.staleMs()).toBe(Infinity)
    nodes.serve(await registry.end())
    await expect.poll(() => nodes.staleMs()).toBeLessThan(Infinity)
  })
})

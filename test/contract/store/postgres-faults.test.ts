// @module-tag postgres

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { StartRefused } from '../../../src/foundation/runtime/start-refused.ts'
import { RegistryUnreachable } from '../../../src/storage/store/postgres/connection.ts'
import { RevisionConflict, type Registry } from '../../../src/storage/store/registry.ts'
import { createFakeClock } from '../../fixtures/fake-clock.ts'
import { openBehindProxy, type FaultyProxy } from '../../fixtures/faulty-proxy.ts'
import { startPgBouncer } from '../../fixtures/pgbouncer.ts'
import { createPostgresServer } from '../../fixtures/postgres-server.ts'
import { executeSql, openTestPostgres } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { AUTHOR, THING, write } from './registry-contract-helpers.ts'

const server = usePostgres()

async function open(url: string, onRewound = () => {}): Promise<Registry> {
  const { registry } = await openTestPostgres(url, { onRewound })
  return registry
}

async function openBehind(): Promise<{ registry: Registry; proxy: FaultyProxy; url: string }> {
  const url = await server.createDatabase()
  const { proxy, url: proxied } = await openBehindProxy(url)
  return { registry: await open(proxied), proxy, url }
}

const endsTransaction = (data: Buffer): boolean => data.includes('; COMMIT')

describe('a connection that is lost', () => {
  it('during a commit that was executed: the commit resolves, and was executed once', async () => {
    const { registry, proxy } = await openBehind()
    const seen: string[] = []
    registry.watch(0, ({ document }) => seen.push(`${document.id} ${document.revision}`))
    let isEnding = false
    proxy.judge((direction, data) => {
      if (direction === 'up' && endsTransaction(data)) isEnding = true
      if (direction === 'up' || !isEnding) return 'pass'
      isEnding = false
      proxy.judge(null)
      return 'cut'
    })
    await registry.commit(AUTHOR, 'make', [write('a', 0, 1)])
    expect(await registry.get(THING, 'a')).toMatchObject({ revision: 1 })
    expect(seen).toEqual(['a 1'])
  })

  it('during a commit that never arrived: the commit is refused, had no effect, and can be repeated', async () => {
    const { registry, proxy } = await openBehind()
    proxy.judge((direction, data) => {
      if (direction === 'down' || !endsTransaction(data)) return 'pass'
      proxy.judge(null)
      return 'cut'
    })
    const commit = () => registry.commit(AUTHOR, 'make', [write('a', 0, 1)])
    await expect(commit()).rejects.toBeInstanceOf(RegistryUnreachable)
    expect(await registry.get(THING, 'a')).toBeNull()
    await commit()
    await expect(commit()).rejects.toBeInstanceOf(RevisionConflict)
  })

  it('delays changes of other nodes until there is a new one; none is missed and none comes twice', async () => {
    const { registry, proxy, url } = await openBehind()
    const other = await open(url)
    const seen: string[] = []
    const { promise: all, resolve } = Promise.withResolvers<void>()
    registry.watch(0, ({ document }) => {
      seen.push(document.id)
      if (document.id === 'last') resolve()
    })
    await other.commit(AUTHOR, 'make', [write('a', 0, 1)])
    proxy.refuse(true)
    proxy.cut()
    await other.commit(AUTHOR, 'make', [write('b', 0, 1)])
    await expect(registry.get(THING, 'b')).rejects.toBeInstanceOf(RegistryUnreachable)
    await expect(registry.commit(AUTHOR, 'make', [write('c', 0, 1)])).rejects.toBeInstanceOf(RegistryUnreachable)
    proxy.refuse(false)
    await other.commit(AUTHOR, 'make', [write('last', 0, 1)])
    await all
    expect(seen).toEqual(['a', 'b', 'last'])
  })
})

describe('a server that stops to answer', () => {
  it('delays a commit for a limited time, and has executed it once if it went through', async () => {
    const url = await server.createDatabase()
    const { proxy, url: proxied } = await openBehindProxy(`${url}?query_timeout=500`)
    const registry = await open(proxied)
    let isEnding = false
    proxy.judge((direction, data) => {
      if (direction === 'up' && endsTransaction(data)) isEnding = true
      return direction === 'down' && isEnding ? 'drop' : 'pass'
    })
    const commit = registry.commit(AUTHOR, 'make', [write('a', 0, 1)])
    await expect(commit).rejects.toThrow('the commit may have been executed')
    await expect(commit).rejects.toBeInstanceOf(RegistryUnreachable)
    expect(await (await open(url)).get(THING, 'a')).toMatchObject({ revision: 1 })
  })
})

describe('a process that stops', () => {
  it('gives up a server that does not answer, and waits for it only once', async () => {
    const { proxy, url } = await openBehindProxy(await server.createDatabase())
    const clock = createFakeClock(Date.now())
    const { registry, beginStop } = await openTestPostgres(url, { clock })
    beginStop()
    await registry.commit(AUTHOR, 'make', [write('a', 0, 1)])
    const questions = clock.pending

    proxy.judge(() => 'hold')
    const reads = [registry.get(THING, 'a'), registry.end()].map((each) => each.catch((cause: unknown) => cause))
    // The next question is asked a second after the answer to the one before, and is not answered.
    const next = async () => {
      await clock.advance(1_000)
      return clock.pending
    }
    await expect.poll(next).toBeLessThan(questions)
    for (const read of reads) expect(await read).toBeInstanceOf(RegistryUnreachable)

    proxy.judge(null)
    await expect(registry.get(THING, 'a')).rejects.toBeInstanceOf(RegistryUnreachable)
    await expect(registry.commit(AUTHOR, 'make', [write('b', 0, 1)])).rejects.toBeInstanceOf(RegistryUnreachable)
  })
})

describe('a server that is killed', () => {
  it('keeps every commit that was acknowledged, and the registry continues with the next server', async () => {
    const registry = await open(await server.createDatabase())
    const seen: string[] = []
    registry.watch(0, ({ document }) => seen.push(document.id))
    const acknowledged: string[] = []
    const killed = (async () => {
      for (let number = 0; ; number++) {
        await registry.commit(AUTHOR, 'make', [write(`d${number}`, 0, number)])
        acknowledged.push(`d${number}`)
        if (number === 20) void server.stop()
      }
    })()
    await expect(killed).rejects.toBeInstanceOf(RegistryUnreachable)
    await server.stop()
    await server.start()
    await registry.commit(AUTHOR, 'make', [write('later', 0, 1)])
    const stored = (await registry.list(THING, { limit: 1_000 })).map(({ id }) => id)
    expect(stored).toEqual(expect.arrayContaining(acknowledged))
    expect(seen).toEqual(expect.arrayContaining([...acknowledged, 'later']))
    expect(new Set(seen).size).toBe(seen.length)
  })
})

describe('a database without the last changes', () => {
  it.each([
    'DELETE FROM change WHERE position > 2',
    'UPDATE change SET commit_id = gen_random_uuid() WHERE position = 3',
  ])('ends the feed, and is reported: %s', async (loss) => {
    const url = await server.createDatabase()
    const { promise: rewound, resolve } = Promise.withResolvers<void>()
    const registry = await open(url, resolve)
    const seen: string[] = []
    registry.watch(0, ({ document }) => seen.push(document.id))
    for (const id of ['a', 'b', 'c']) await registry.commit(AUTHOR, 'make', [write(id, 0, 1)])
    await executeSql(url, `SET session_replication_role = replica; ${loss}`)
    await executeSql(url, `UPDATE change_end SET position = ${loss.startsWith('DELETE') ? 2 : 3}`)
    const other = await open(url)
    await other.commit(AUTHOR, 'make', [write('d', 0, 1)])
    await rewound
    expect(seen).toEqual(['a', 'b', 'c'])
  })
})

describe('the audit log', () => {
  it.each([
    'UPDATE change SET author = 1',
    'DELETE FROM change',
    'TRUNCATE change',
    'UPDATE note SET author = 1',
    'DELETE FROM note',
    'TRUNCATE note',
  ])('refuses %s', async (sql) => {
    const url = await server.createDatabase()
    const registry = await open(url)
    await registry.commit(AUTHOR, 'make', [write('a', 0, 1)])
    await registry.audit(AUTHOR, 'read', { kind: 'thing', id: 'a', tenant: 'acme' })
    await expect(executeSql(url, sql)).rejects.toThrow('the audit is only added to')
  })
})

describe('texts that PostgreSQL cannot store', () => {
  it('are found as they were written, or not at all, without an error', async () => {
    const registry = await open(await server.createDatabase())
    const odd = 'a\0\ud800'
    await registry.commit(AUTHOR, odd, [write('a', 0, { text: odd, labels: { x: odd } }, { keys: { name: odd } })])
    expect((await registry.get(THING, 'a'))?.body).toEqual({ text: odd, labels: { x: odd } })
    expect((await registry.find(THING, 'name', odd))?.id).toBe('a')
    expect(await registry.get(THING, 'b\0')).toBeNull()
    expect(await registry.list(THING, { where: { label: `x:${odd}` }, after: '\0', limit: 9 })).toHaveLength(1)
    expect(await registry.list(THING, { prefix: { name: 'name', value: 'a\0' }, limit: 9 })).toHaveLength(1)
    expect(await registry.search(THING, { tenant: 'acme', text: '\0', limit: 9 })).toEqual([])
    expect(await registry.history({ tenant: 'acme', id: '\0', bodiesOf: [], limit: 9 })).toEqual([])
  })
})

describe('a database that cannot be used', () => {
  const refusal = async (url: string): Promise<string> => {
    const opening = open(url)
    await expect(opening).rejects.toBeInstanceOf(StartRefused)
    return opening.then(
      () => '',
      (cause: unknown) => (cause as Error).message,
    )
  }

  it('is refused with one line, which does not repeat the password', async () => {
    const url = new URL(await server.createDatabase())
    url.password = 'pa-ss-wo-rd'
    const variants: Readonly<Record<string, (changed: URL) => void>> = {
      'the database does not exist': (changed) => (changed.pathname = '/absent'),
      'the host name is unknown': (changed) => (changed.hostname = 'absent.invalid'),
      ECONNREFUSED: (changed) => (changed.port = '1'),
      'the user may not create or use the schema': (changed) => (changed.username = 'guest'),
      'the user or the password': (changed) => (changed.username = 'nobody'),
    }
    await executeSql(url.href, 'CREATE ROLE guest LOGIN')
    for (const [expected, change] of Object.entries(variants)) {
      const changed = new URL(url)
      change(changed)
      const line = await refusal(changed.href)
      expect(line).toContain(expected)
      expect(line).not.toMatch(/pa-ss-wo-rd|\n/)
    }
    expect(await refusal('postgres://[pa-ss-wo-rd')).toMatch(/^DATABASE_URL is not a URL of PostgreSQL/)
  })

  it.each([
    ['pool_mode = transaction'],
    ['pool_mode = transaction', 'ignore_startup_parameters = options'],
    ['pool_mode = session', 'ignore_startup_parameters = options'],
  ])('is refused behind PgBouncer: %s %s', { tags: ['pgbouncer'] }, async (...settings) => {
    const url = await startPgBouncer(await server.createDatabase(), settings)
    expect(await refusal(url)).toMatch(
      /^DATABASE_URL \(tollgate@[^)]*\): the connection goes through a pooler \(PgBouncer\)/,
    )
  })

  it('is refused after a time if it accepts connections and never answers', async () => {
    const { proxy, url } = await openBehindProxy(await server.createDatabase())
    proxy.judge(() => 'drop')
    expect(await refusal(url)).toContain('the server accepts connections, but does not answer')
  })

  it('is refused if its URL replaces the settings of a session', async () => {
    const url = await server.createDatabase()
    expect(await refusal(`${url}?options=-c%20lock_timeout%3D0`)).toContain('must not have the parameter options')
  })

  it('is refused if it is a replica', async () => {
    const replica = await createPostgresServer()
    onTestFinished(() => replica.remove())
    const url = await replica.createDatabase()
    await replica.stop('SIGINT')
    writeFileSync(join(replica.folder, 'data/standby.signal'), '')
    await replica.start()
    expect(await refusal(url)).toMatch(/is a read-only replica; name the primary server$/)
  })

  it('is refused if it admits only reading, or if a later version has written it', async () => {
    const url = await server.createDatabase()
    await open(url)
    await executeSql(url, 'UPDATE shared_format SET format = 99')
    expect(await refusal(url)).toContain('written by a later version')
    await executeSql(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = on`)
    expect(await refusal(url)).toContain('admits only reading')
  })
})

/** `tollgate migrate` between a real file and a real PostgreSQL server. */

// @module-tag postgres

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/foundation/runtime/clock.ts'
import type { Registry, Write } from '../../../src/storage/store/registry.ts'
import { lockDataFolder } from '../../../src/storage/store/sqlite/data-folder.ts'
import { openSqliteRegistry, type SqliteRegistry } from '../../../src/storage/store/sqlite/registry.ts'
import { executeSql, openTestPostgres } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { runCommand } from '../../journey/running-command.ts'
import { tollgate, type Ended } from '../../journey/tollgate.ts'
import { AUTHOR, THING, write } from './registry-contract-helpers.ts'

const server = usePostgres()

const SYSTEM = { tenant: 'platform', consumer: 'system' }
const TABLES = ['document', 'document_key', 'change', 'note', 'credential_use']
const PROCESSED = 2_500

async function newFolder(fill: (registry: SqliteRegistry) => Promise<void> = fillAll): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-migrate-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const registry = openSqliteRegistry({ path: join(folder, 'registry.db'), clock: systemClock })
  await fill(registry)
  registry.close()
  return folder
}

/** More rows than a batch and a page, changes of every sort, and texts that are hard to copy. */
async function fillAll(registry: SqliteRegistry): Promise<void> {
  const many = Array.from({ length: PROCESSED }, (_, number): Write => ({ ...write(`m${number}`, 0, number) }))
  await registry.commit(AUTHOR, 'fill', many)
  await registry.commit(SYSTEM, 'make', [
    { ...write('hostile', 0, { text: `'"\\ \u0000 𝄞 ünï \ud800`, labels: ['x', 'y'] }), keys: { name: 'nul\0é𝄞' } },
  ])
  await registry.commit(AUTHOR, 'make', [{ ...write('held', 0, 1), keys: { name: 'held' }, unique: ['name'] }])
  await registry.commit(AUTHOR, 'change', [write('m1', 1, 'again'), write('m2', 1, null)])
  await registry.commit(SYSTEM, 'grow', [write('large', 0, 'x'.repeat(5_000_000))])
  await registry.audit(AUTHOR, 'read', { kind: THING, id: 'm1', tenant: AUTHOR.tenant })
  await registry.audit(SYSTEM, 'read', { kind: THING, id: 'm1', tenant: AUTHOR.tenant })
  await registry.credentialUses.store(new Map([['crd_1', 29_000_000]]))
}

const migrate = (folder: string, url: string): Promise<Ended> =>
  tollgate(['migrate', '--from', folder], { DATABASE_URL: url })

async function read(registry: Registry): Promise<object> {
  const { tenant } = AUTHOR
  const changes: unknown[] = []
  const end = await registry.end()
  const stop = registry.watch(0, (change) => changes.push(change))
  while (changes.length < end) await setImmediate()
  stop()
  const query = { tenant, bodiesOf: [THING], limit: 10_000 }
  return {
    end,
    changes,
    documents: await registry.list(THING, { limit: 10_000 }),
    history: await registry.history(query),
    byAuthor: await registry.history({ ...query, consumer: AUTHOR.consumer }),
    hostile: await registry.find(THING, 'name', 'nul\0é𝄞'),
    held: await registry.find(THING, 'name', 'held'),
  }
}

async function readFile(folder: string): Promise<object> {
  const registry = openSqliteRegistry({ path: join(folder, 'registry.db'), clock: systemClock })
  try {
    return await read(registry)
  } finally {
    registry.close()
  }
}

async function countAll(url: string): Promise<unknown> {
  const counts = TABLES.map((table) => `(SELECT count(*) FROM ${table}) AS ${table}`)
  return (await executeSql(url, `SELECT ${counts.join()}`)).rows[0]
}

const EMPTY = { document: '0', document_key: '0', change: '0', note: '0', credential_use: '0' }

describe('a migration', () => {
  it('copies documents, keys, changes with their positions, and notes', async () => {
    const folder = await newFolder()
    const url = await server.createDatabase()
    const { code, out, err } = await migrate(folder, url)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/document +2502 rows, revisions add up to 2503, digest [0-9a-f]{16}\n/)
    expect(out).toMatch(/note +2 rows, digest/)
    const { registry, credentialUses } = await openTestPostgres(url)
    const copied = await read(registry)
    expect(copied).toEqual(await readFile(folder))
    expect(copied).toMatchObject({ hostile: { id: 'hostile' }, held: { id: 'held' } })
    expect([...(await credentialUses.read(['crd_1']))]).toEqual([['crd_1', 29_000_000]])
  })

  it('leaves a registry that goes on', async () => {
    const url = await server.createDatabase()
    await migrate(await newFolder(), url)
    const { registry } = await openTestPostgres(url)
    const end = await registry.end()
    await registry.commit(AUTHOR, 'change', [write('m1', 2, 'next')])
    await registry.audit(AUTHOR, 'read', { kind: THING, id: 'm1', tenant: AUTHOR.tenant })
    expect(await registry.end()).toBe(end + 1)
    const taken = { ...write('other', 0, 1), keys: { name: 'held' }, unique: ['name'] }
    await expect(registry.commit(AUTHOR, 'make', [taken])).rejects.toMatchObject({ name: 'KeyTaken' })
    const { rows } = await executeSql(url, 'SELECT max(position)::int AS last FROM note')
    expect(rows).toEqual([{ last: 3 }])
  })

  it('that is complete is found again, until a node changes it', async () => {
    const folder = await newFolder()
    const url = await server.createDatabase()
    await migrate(folder, url)
    await (await openTestPostgres(url)).credentialUses.store(new Map([['crd_1', 29_000_001]]))
    const again = await migrate(folder, url)
    expect(again).toMatchObject({ code: 0 })
    expect(again.out).toContain('is in PostgreSQL already')
    await executeSql(url, `UPDATE document SET body = '"forged"' WHERE id = 'm3'`)
    expect(await migrate(folder, url)).toMatchObject({ code: 2, err: expect.stringContaining('another registry') })
  })

  it('that is killed leaves nothing, and can be run again', async () => {
    const folder = await newFolder()
    const url = await server.createDatabase()
    // The schema, so that the copy waits at its last table.
    await (await openTestPostgres(url)).close()
    const holder = new pg.Client({ connectionString: url, options: '-c search_path=tollgate' })
    await holder.connect()
    await holder.query('BEGIN; LOCK TABLE credential_use IN SHARE MODE')
    const { signal, ended } = runCommand(['migrate', '--from', folder], { env: { DATABASE_URL: url } })
    const waiting = `SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'tollgate.credential_use'::regclass`
    while ((await executeSql(url, waiting)).rows.length === 0) await setImmediate()
    const { rows } = await executeSql(
      url,
      `SELECT pid FROM pg_stat_activity WHERE application_name = 'tollgate migrate' AND datname = current_database()`,
    )
    expect(rows).toHaveLength(1)
    signal('SIGKILL')
    await ended
    await holder.query('ROLLBACK')
    await holder.end()
    while ((await executeSql(url, `SELECT 1 FROM pg_stat_activity WHERE pid = ${Number(rows[0]!['pid'])}`)).rows.length)
      await setImmediate()
    expect(await countAll(url)).toEqual(EMPTY)
    expect(existsSync(join(folder, 'registry.moved'))).toBe(false)
    expect(await migrate(folder, url)).toMatchObject({ code: 0, err: '' })
  })

  it('whose connection is lost leaves nothing, and can be run again', async () => {
    const folder = await newFolder()
    const url = await server.createDatabase()
    await (await openTestPostgres(url)).close()
    await executeSql(
      url,
      `CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$;
       CREATE TRIGGER cut BEFORE INSERT ON note FOR EACH ROW EXECUTE FUNCTION cut()`,
    )
    const { code, err } = await migrate(folder, url)
    expect(code).toBe(2)
    expect(err).toMatch(/^tollgate: DATABASE_URL \(.*\): .*; run the command again\n$/)
    expect(await countAll(url)).toEqual(EMPTY)
    await executeSql(url, 'DROP TRIGGER cut ON note')
    expect(await migrate(folder, url)).toMatchObject({ code: 0, err: '' })
  })

  it('finds rows that PostgreSQL changed', async () => {
    const url = await server.createDatabase()
    await (await openTestPostgres(url)).close()
    await executeSql(
      url,
      `CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN IF NEW.id = 'm7' THEN NEW.body = '8'; END IF; RETURN NEW; END $$;
       CREATE TRIGGER change BEFORE INSERT ON document FOR EACH ROW EXECUTE FUNCTION change()`,
    )
    const { code, err } = await migrate(await newFolder(), url)
    expect({ code, err }).toEqual({
      code: 2,
      err: 'tollgate: PostgreSQL did not store the rows of document as they were sent; nothing was copied\n',
    })
    expect(await countAll(url)).toEqual(EMPTY)
  })
})

describe('a migration is refused', () => {
  const refusal = async (folder: string, url: string): Promise<string> => {
    const { code, out, err } = await migrate(folder, url)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err.trimEnd().split('\n')).toHaveLength(1)
    expect(existsSync(join(folder, 'registry.moved'))).toBe(false)
    return err
  }
  const makeOne = async (registry: Registry): Promise<void> => registry.commit(AUTHOR, 'make', [write('a', 0, 1)])

  it('while the service runs', async () => {
    const folder = await newFolder(makeOne)
    const unlock = lockDataFolder(folder)
    expect(await refusal(folder, 'postgres://127.0.0.1:1/x')).toContain('is in use by another process')
    unlock()
  })

  it('into the registry of another service', async () => {
    const url = await server.createDatabase()
    const { registry } = await openTestPostgres(url)
    await makeOne(registry)
    expect(await refusal(await newFolder(makeOne), url)).toContain('another registry')
  })

  it('into a newer schema', async () => {
    const url = await server.createDatabase()
    await (await openTestPostgres(url)).close()
    await executeSql(url, 'UPDATE shared_format SET format = 99')
    expect(await refusal(await newFolder(makeOne), url)).toContain('later version')
  })

  it('to an address that is wrong, without its password', async () => {
    const folder = await newFolder(makeOne)
    for (const url of ['postgres://u:hunter2@127.0.0.1:1/x', 'mysql://u:hunter2@h/x', 'postgres://u:hunter2@h:x/y']) {
      expect(await refusal(folder, url)).not.toContain('hunter2')
    }
  })

  it('from a registry that is damaged, incomplete or not there', async () => {
    const url = await server.createDatabase()
    const folder = await newFolder()
    const path = join(folder, 'registry.db')
    const bytes = readFileSync(path)
    // A flipped bit inside a value, which the structure of the file does not show.
    bytes[bytes.indexOf('x'.repeat(1_000))] = 0x79
    writeFileSync(path, bytes)
    expect(await refusal(folder, url)).toContain('is damaged')
    writeFileSync(path, 'garbage '.repeat(10_000))
    expect(await refusal(folder, url)).toContain('is damaged')
    rmSync(path)
    expect(await refusal(folder, url)).toContain('is not a data folder')
    expect((await executeSql(url, `SELECT to_regclass('tollgate.document')`)).rows).toEqual([{ to_regclass: null }])
  })
})

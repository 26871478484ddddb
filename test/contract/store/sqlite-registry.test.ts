import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/foundation/runtime/clock.ts'
import { THING } from './registry-contract-helpers.ts'
import { documentKind, RegistryFull, type Author, type Commit } from '../../../src/storage/store/registry.ts'
import { createDocumentList } from '../../../src/storage/store/sqlite/document-list.ts'
import { openSqliteRegistry, type SqliteRegistry } from '../../../src/storage/store/sqlite/registry.ts'
import { credentialUsesContract } from './credential-uses.contract.ts'
import { auditContract } from './registry-audit.contract.ts'
import { registryLabelsContract } from './registry-labels.contract.ts'
import { registryPrefixContract } from './registry-prefix.contract.ts'
import { registryContract } from './registry.contract.ts'
import type { OpenRegistry } from './registry-contract-helpers.ts'

const LEFT = documentKind<number>('left', 'hidden')
const RIGHT = documentKind<unknown>('right', 'hidden')

const BY_KEY = 'PRIMARY KEY (kind=? AND name=? AND value=?'
const BY_ID = 'PRIMARY KEY (kind=? AND id=?)'
const AUTHOR: Author = { tenant: 'acme', consumer: 'con_1', agent: 'con_2', person: 'ann' }
const clock = { ...systemClock, nowMs: () => 5_000 }

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-registry-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'registry.db')
}

function open(path: string, bytesMax?: number): SqliteRegistry {
  const registry = openSqliteRegistry({ path, clock, ...(bytesMax !== undefined && { bytesMax }) })
  onTestFinished(() => {
    try {
      registry.close()
    } catch {
      // The test closed it already.
    }
  })
  return registry
}

function rowsOf(path: string, sql: string): unknown[] {
  const database = new DatabaseSync(path)
  const rows = database.prepare(sql).all()
  database.close()
  return rows.map((row) => ({ ...row }))
}

/** Kills the writer after `count` acknowledged commits, and returns the number of the last one. */
async function killAfter(path: string, from: number, count: number): Promise<number> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'registry-writer.ts'), path, String(from)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  child.once('close', () => resolve())
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
    if (output.split('\n').length > count) child.kill('SIGKILL')
  })
  await ended
  const acknowledged = output.split('\n').slice(0, -1)
  return Number(acknowledged.at(-1) ?? from - 1)
}

function fresh(): OpenRegistry {
  const path = newPath()
  return (time) => {
    const registry = openSqliteRegistry({ path, clock: time })
    onTestFinished(() => {
      try {
        registry.close()
      } catch {
        // The test closed it already.
      }
    })
    return registry
  }
}

registryContract('sqlite', fresh)
auditContract('sqlite', fresh)
registryLabelsContract('sqlite', fresh)
registryPrefixContract('sqlite', fresh)
credentialUsesContract('sqlite', async () => {
  const path = newPath()
  return [open(path).credentialUses, open(path).credentialUses]
})

describe('registry in a file', () => {
  it('contains every commit that was acknowledged before a kill -9, and no partial commit', async () => {
    const path = newPath()
    let next = 0
    for (const count of [1, 40, 7]) {
      const last = await killAfter(path, next, count)
      const registry = open(path)
      const left = await registry.list(LEFT, { limit: 10_000 })
      const right = await registry.list(RIGHT, { limit: 10_000 })
      const positions: number[] = []
      registry.watch(0, ({ position }) => positions.push(position))
      registry.close()

      const numbers = left.map(({ body }) => body).sort((a, b) => a - b)
      expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => index))
      expect(numbers.length).toBeGreaterThan(last)
      expect(right).toHaveLength(left.length)
      expect(positions).toHaveLength(2 * left.length)
      next = numbers.length
    }
  })

  it('records author, time, action and both bodies of every change', async () => {
    const path = newPath()
    const registry = open(path)
    const write = { kind: 'thing', id: 'a', tenant: 'acme' }
    await registry.commit(AUTHOR, 'thing.make', [{ ...write, expected: 0, body: { n: 1 } }])
    await registry.commit(AUTHOR, 'thing.change', [{ ...write, expected: 1, body: { n: 2 } }])
    await registry.commit(AUTHOR, 'thing.remove', [{ ...write, expected: 2, body: null }])
    await registry.audit(AUTHOR, 'thing.read', write)
    registry.close()

    const author = JSON.stringify(AUTHOR)
    const common = { kind: 'thing', id: 'a', tenant: 'acme', author }
    const changes = rowsOf(path, 'SELECT * FROM change ORDER BY position')
    expect(changes).toMatchObject([
      { ...common, action: 'thing.make', revision: 1, before: null, body: '{"n":1}', updated_at_ms: 5_000, removed: 0 },
      { ...common, action: 'thing.change', revision: 2, before: '{"n":1}', body: '{"n":2}', removed: 0 },
      { ...common, action: 'thing.remove', revision: 3, before: '{"n":2}', removed: 1 },
    ])
    expect(rowsOf(path, 'SELECT * FROM note')).toMatchObject([{ ...common, action: 'thing.read', at_ms: 5_000 }])
  })

  it.each(['UPDATE change SET author = 1', 'DELETE FROM change', 'UPDATE note SET author = 1', 'DELETE FROM note'])(
    'refuses changes of the audit log: %s',
    async (sql) => {
      const path = newPath()
      const registry = open(path)
      const thing = { kind: 'thing', id: 'a', tenant: 'acme' }
      await registry.commit(AUTHOR, 'make', [{ ...thing, expected: 0, body: 1 }])
      await registry.audit(AUTHOR, 'read', thing)
      registry.close()

      const database = new DatabaseSync(path)
      expect(() => database.exec(sql)).toThrow('the audit is only added to')
      database.close()
    },
  )

  it('completes a commit and notifies the other watchers even if one watcher fails', async () => {
    const registry = open(newPath())
    const delivered: string[] = []
    const raised: unknown[] = []
    const others = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException')
    process.on('uncaughtException', (cause) => raised.push(cause))
    onTestFinished(() => {
      process.removeAllListeners('uncaughtException')
      for (const listener of others) process.on('uncaughtException', listener)
    })
    const bug = new Error('a bug of the watcher')
    registry.watch(0, () => {
      throw bug
    })
    registry.watch(0, ({ document }) => delivered.push(document.id))
    await registry.commit(AUTHOR, 'make', [{ kind: 'thing', id: 'a', tenant: 'acme', expected: 0, body: 1 }])
    await new Promise((resolve) => setImmediate(resolve))

    expect(delivered).toEqual(['a'])
    expect(raised).toEqual([bug])
  })

  it('migrates a file of the first version with its keys', async () => {
    const path = newPath()
    const database = new DatabaseSync(path)
    database.exec(`
      CREATE TABLE document (kind TEXT NOT NULL, id TEXT NOT NULL, tenant TEXT NOT NULL, revision INTEGER NOT NULL,
        body TEXT NOT NULL, created_at_ms INTEGER NOT NULL, updated_at_ms INTEGER NOT NULL, PRIMARY KEY (kind, id)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE document_key (kind TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, id TEXT NOT NULL,
        is_unique INTEGER NOT NULL, PRIMARY KEY (kind, name, value, id)) STRICT, WITHOUT ROWID;
      CREATE UNIQUE INDEX document_key_unique ON document_key (kind, name, value) WHERE is_unique = 1;
      CREATE INDEX document_key_by_id ON document_key (kind, id);
      INSERT INTO document VALUES ('thing', 'a', 'acme', 3, '1', 1, 2);
      INSERT INTO document VALUES ('consumer', 'c', 'acme', 1, '{"name":"Shöp","isDisabled":true}', 1, 2);
      INSERT INTO document VALUES ('consumer', 'd', 'acme', 1, 'damaged', 1, 2);
      INSERT INTO document VALUES ('proxy', 'e', 'acme', 1, '{"actor":{"context":{"stagingRevision":2}}}', 1, 2);
      INSERT INTO document VALUES ('proxy', 'f', 'acme', 1, '{"actor":{"context":{"stagingRevision":null}}}', 1, 2);
      INSERT INTO document VALUES ('proxy', 'g', 'acme', 1, '{"deployment":{}}', 1, 2);
      INSERT INTO document VALUES ('proxy', 'h', 'acme', 1, 'damaged', 1, 2);
      INSERT INTO document_key VALUES ('thing', 'name', 'x', 'a', 1);`)
    database.close()
    const registry = open(path)

    expect(await registry.list(THING, { tenant: 'acme', where: { name: 'x' }, limit: 9 })).toMatchObject([
      { id: 'a', revision: 3 },
    ])
    const taken = {
      kind: 'thing',
      id: 'b',
      tenant: 'acme',
      expected: 0,
      body: 1,
      keys: { name: 'x' },
      unique: ['name'],
    }
    await expect(registry.commit(AUTHOR, 'make', [taken])).rejects.toMatchObject({ name: 'KeyTaken' })
    registry.close()
    expect(rowsOf(path, `SELECT name, value, id FROM document_key WHERE kind = 'consumer' ORDER BY name`)).toEqual([
      { name: 'name', value: 'acme shöp', id: 'c' },
      { name: 'search', value: 'acme shöp', id: 'c' },
      { name: 'state', value: 'Disabled', id: 'c' },
    ])
    expect(rowsOf(path, `SELECT name, value, id FROM document_key WHERE kind = 'proxy' ORDER BY id`)).toEqual([
      { name: 'hasStaging', value: 'true', id: 'e' },
      { name: 'hasStaging', value: 'false', id: 'f' },
      { name: 'hasStaging', value: 'false', id: 'g' },
    ])
  })

  it('refuses a file that a later version has written, with a message', () => {
    const path = newPath()
    const database = new DatabaseSync(path)
    database.exec('PRAGMA user_version = 99')
    database.close()

    expect(() => open(path)).toThrow(/written by a later version/)
  })

  it.each([
    [{ tenant: 'small', limit: 50 }, ['document_by_tenant (kind=? AND tenant=? AND id>?)']],
    [{ tenant: 'small', where: { owner: 'o' }, limit: 50 }, [`${BY_KEY} AND tenant=? AND id>?)`, BY_ID]],
    [
      { tenant: 'small', where: { owner: 'o', state: 'Active' }, limit: 50 },
      [`${BY_KEY} AND tenant=?)`, `${BY_KEY} AND tenant=? AND id>?)`, BY_ID],
    ],
    [{ where: { owner: 'o' }, limit: 50 }, [`${BY_KEY})`, BY_ID]],
    [{ limit: 50 }, ['PRIMARY KEY (kind=? AND id>?)']],
  ])('answers %j from an index alone, without a walk over what others own', (query, searches) => {
    const path = newPath()
    open(path).close()
    const database = new DatabaseSync(path)
    onTestFinished(() => database.close())
    const asked: string[] = []
    createDocumentList({
      prepare(sql) {
        asked.push(sql)
        return database.prepare(sql)
      },
    })('thing', query)

    const plans = asked.flatMap((sql) =>
      database
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all(...Array<string>(sql.split('?').length - 1).fill('1'))
        .map(({ detail }) => String(detail)),
    )
    for (const search of searches) expect(plans.join('\n')).toContain(search)
    for (const plan of plans) expect(plan).not.toMatch(/SCAN [a-z]/)
    if ('tenant' in query) expect(plans.join('\n')).not.toContain('TEMP B-TREE')
  })
})

describe('a registry that is full', () => {
  const commit = (id: string, bytes: number): Commit => ({
    author: AUTHOR,
    action: 'make',
    writes: [{ kind: 'thing', id, tenant: 'acme', expected: 0, body: 'x'.repeat(bytes) }],
  })

  it('refuses a commit that does not fit, without an effect, and accepts smaller ones', async () => {
    const registry = open(newPath(), 400_000)
    const { author, action, writes } = commit('large', 1_000_000)
    await expect(registry.commit(author, action, writes)).rejects.toBeInstanceOf(RegistryFull)
    expect(await registry.get(THING, 'large')).toBeNull()

    // Commits without an error are stored; refused ones have no effect.
    const together = [commit('a', 10), commit('large', 1_000_000), commit('b', 10)]
    const outcome = await registry.commitEach(together).catch((cause: unknown) => cause)
    const errors = Array.isArray(outcome)
      ? (outcome as readonly (Error | null)[])
      : together.map(() => outcome as Error)
    for (const [index, id] of ['a', 'large', 'b'].entries()) {
      const error = errors[index]
      if (error !== null) expect(error).toBeInstanceOf(RegistryFull)
      expect((await registry.get(THING, id)) === null).toBe(error !== null)
    }
    expect(errors[1]).toBeInstanceOf(RegistryFull)
    expect(await registry.commitEach([commit('c', 10)])).toEqual([null])
  })
})

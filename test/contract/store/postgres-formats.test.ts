/** Nodes of several versions on one database: what each of them writes, and which of them are refused. */

// @module-tag postgres

import pg from 'pg'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { StartRefused } from '../../../src/foundation/runtime/start-refused.ts'
import { toClientConfig } from '../../../src/storage/store/postgres/connection.ts'
import { migrateSchema, requireSchema, type SchemaVersion } from '../../../src/storage/store/postgres/migrate-schema.ts'
import type { Postgres } from '../../../src/storage/store/postgres/open-postgres.ts'
import { STEPS } from '../../../src/storage/store/postgres/schema-steps.ts'
import { FORMAT } from '../../../src/storage/store/nodes.ts'
import { executeSql, openTestPostgres } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { NODE } from './nodes.contract.ts'
import { AUTHOR, write } from './registry-contract-helpers.ts'

const server = usePostgres()

const LATER = FORMAT + 1
const WITHIN = { timeout: 20_000, interval: 20 }

async function open(url: string) {
  const onOutdated = vi.fn<() => void>()
  const onReplaced = vi.fn<() => void>()
  return { ...(await openTestPostgres(url, { onOutdated, onReplaced })), onOutdated, onReplaced }
}

const register = ({ nodes }: Pick<Postgres, 'nodes'>, name: string, format: number): Promise<void> =>
  nodes.register({ ...NODE, incarnation: `i-${name}`, name, format })

async function start(url: string, name: string, format: number) {
  const opened = await open(url)
  await register(opened, name, format)
  return opened
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(toClientConfig({ url, nodeName: 'test' }))
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

const LATER_VERSION: SchemaVersion = {
  steps: [...STEPS, 'ALTER TABLE node ADD COLUMN later text'],
  breaking: new Map(),
  format: LATER,
}
const BREAKING_VERSION: SchemaVersion = {
  steps: [...STEPS, 'ALTER TABLE node RENAME COLUMN stale_after_ms TO later'],
  breaking: new Map([[STEPS.length + 1, LATER]]),
  format: LATER,
}

describe('the shared format', () => {
  it('is that of the oldest node in the list, until that node leaves', async () => {
    const url = await server.createDatabase()
    const older = await start(url, 'older', FORMAT)
    const newer = await start(url, 'newer', LATER)
    // Both have reported since both are in the list.
    await expect.poll(async () => (await newer.nodes.list()).length).toBe(2)
    for (const { nodes } of [newer, older]) expect(nodes.format()).toBe(FORMAT)
    await older.nodes.leave()
    await expect.poll(() => newer.nodes.format(), WITHIN).toBe(LATER)
  })

  it('stays while a node that reads no other is silent, and rises once it is removed', async () => {
    const url = await server.createDatabase()
    await openTestPostgres(url)
    await executeSql(url, OLD_NODE)
    const newer = await start(url, 'newer', LATER)
    await expect.poll(() => newer.nodes.progress().silentNodes, WITHIN).toBe(1)
    expect(newer.nodes.format()).toBe(FORMAT)
    expect(await newer.nodes.remove('old')).toBe('removed')
    await expect.poll(() => newer.nodes.format(), WITHIN).toBe(LATER)
  })

  it('refuses a node that does not read it, at its registration and when it returns to the list', async () => {
    const url = await server.createDatabase()
    const removed = await start(url, 'removed', FORMAT)
    const waiting = await openTestPostgres(url)
    await executeSql(url, `DELETE FROM node; UPDATE shared_format SET format = ${LATER}`)
    await expect.poll(() => removed.onOutdated.mock.calls.length, WITHIN).toBe(1)
    expect(removed.onReplaced).not.toHaveBeenCalled()
    const late = waiting.nodes.register({ ...NODE, incarnation: 'i-late', name: 'late' })
    await expect(late).rejects.toThrow(
      `the nodes of DATABASE_URL write format ${LATER}, and this version of tollgate reads up to ${FORMAT}; start a later version`,
    )
    expect(await waiting.nodes.list()).toEqual([])
  })

  it('is not raised past a node that enters at the same time', async () => {
    const url = await server.createDatabase()
    const newer = await open(url)
    const others = await Promise.all(Array.from({ length: 5 }, () => open(url)))
    const entered = await Promise.allSettled([
      register(newer, 'newer', LATER),
      ...others.map((other, index) => register(other, `n${index}`, FORMAT)),
    ])
    const listed = await newer.nodes.list()
    const { rows } = await executeSql(url, 'SELECT format::int FROM shared_format')
    const readable = Math.min(...listed.map(({ format }) => format))
    expect(rows[0]!['format']).toBeLessThanOrEqual(readable)
    expect(listed).toHaveLength(entered.filter(({ status }) => status === 'fulfilled').length)
  })
})

const OLD_NODE = `INSERT INTO node (incarnation, name, version, format, session, position, registered_at, heard_at)
  VALUES ('i-old', 'old', '1.0.0', ${FORMAT}, gen_random_uuid(), 0, now(), now() - interval '1 hour')`

describe('a change of a later format', () => {
  it('ends the feed before it is delivered, because the node would apply half of it', async () => {
    const url = await server.createDatabase()
    const { registry, onOutdated } = await start(url, 'a', FORMAT)
    const seen: string[] = []
    registry.watch(0, ({ document }) => void seen.push(document.id))
    await registry.commit(AUTHOR, 'make', [write('one', 0, 1)])
    await executeSql(
      url,
      `INSERT INTO change SELECT position + 1, commit_id, kind, 'two', tenant, revision, body, created_at_ms, updated_at_ms,
         removed, before, author, shown_author, action, ${LATER} FROM change`,
    )
    await expect.poll(() => onOutdated.mock.calls.length, WITHIN).toBe(1)
    expect(seen).toEqual(['one'])
  })

  it('is not written: changes carry the format that all nodes read', async () => {
    const url = await server.createDatabase()
    const { registry } = await start(url, 'a', FORMAT)
    await registry.commit(AUTHOR, 'make', [write('one', 0, 1)])
    const { rows } = await executeSql(url, 'SELECT format::int FROM change')
    expect(rows).toEqual([{ format: FORMAT }])
  })
})

describe('a schema that a later version has extended', () => {
  it('is used by this version, while nodes run and afterwards', async () => {
    const url = await server.createDatabase()
    const { nodes, registry } = await start(url, 'a', FORMAT)
    await migrateSchema(await connect(url), LATER_VERSION)
    await registry.commit(AUTHOR, 'make', [write('one', 0, 1)])
    const second = await start(url, 'b', FORMAT)
    await requireSchema(await connect(url))
    expect((await second.nodes.list()).map(({ name }) => name)).toEqual(['a', 'b'])
    expect(nodes.format()).toBe(FORMAT)
    await migrateSchema(await connect(url), LATER_VERSION)
  })

  it('is refused by a command of the later version until its node has started', async () => {
    const url = await server.createDatabase()
    await openTestPostgres(url)
    await expect(requireSchema(await connect(url), LATER_VERSION)).rejects.toThrow('belongs to an earlier version')
  })
})

describe('a step that earlier versions cannot work with', () => {
  it('waits until none of them is in the list, and refuses them from then on', async () => {
    const url = await server.createDatabase()
    const { nodes } = await start(url, 'a', FORMAT)
    await executeSql(url, OLD_NODE)
    const client = await connect(url)
    const refused = migrateSchema(client, BREAKING_VERSION)
    await expect(refused).rejects.toBeInstanceOf(StartRefused)
    await expect(refused).rejects.toThrow('stop a (1.2.3), old (1.0.0), remove those that do not return')
    expect(await nodes.list()).toHaveLength(2)
    await nodes.leave()
    await executeSql(url, 'DELETE FROM node')
    await migrateSchema(client, BREAKING_VERSION)
    await expect(openTestPostgres(url)).rejects.toThrow(
      `written by a later version of tollgate (format ${LATER}; this version reads up to ${FORMAT}); start that version`,
    )
    await expect(requireSchema(await connect(url))).rejects.toThrow('later version')
  })

  it('does not concern an empty database', async () => {
    const client = await connect(await server.createDatabase())
    await migrateSchema(client, BREAKING_VERSION)
    await migrateSchema(client, BREAKING_VERSION)
    const { rows } = await client.query('SELECT format FROM shared_format')
    expect(rows).toEqual([{ format: LATER }])
  })
})

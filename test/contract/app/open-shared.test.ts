/** A node that starts while PostgreSQL is away: from its copy of the registry if that is safe, with one line otherwise. */

// @module-tag postgres

import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openShared, type Shared, type SharedOptions } from '../../../src/app/open-shared.ts'
import { createSharedMutex } from '../../../src/control/command/shared-mutex.ts'
import { readConfig } from '../../../src/app/config.ts'
import { followEnd } from '../../../src/storage/nodes/known-end.ts'
import { systemClock as clock } from '../../../src/foundation/runtime/clock.ts'
import { createLog } from '../../../src/foundation/runtime/log.ts'
import { openMarkFile } from '../../../src/foundation/runtime/mark-file.ts'
import { StartRefused } from '../../../src/foundation/runtime/start-refused.ts'
import { createVault } from '../../../src/foundation/runtime/vault.ts'
import { StoreUnwritable } from '../../../src/storage/store/unwritable.ts'
import { openBehindProxy } from '../../fixtures/faulty-proxy.ts'
import { executeSql } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { AUTHOR, THING, write } from '../store/registry-contract-helpers.ts'

const server = usePostgres()

const TIMEOUT = 60_000
const WAIT = { timeout: 20_000 }
const log = createLog('silent')

interface Started {
  readonly shared: Shared
  readonly counts: readonly string[]
  readonly ended: readonly string[]
  stop(): Promise<void>
  /** Ends everything but leaves the node in the list, as a crash does. */
  crash(): Promise<void>
}

/** A database behind a proxy, and a folder for a node. */
async function openPlace() {
  const direct = await server.createDatabase()
  const { proxy, url } = await openBehindProxy(direct)
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-shared-'))
  writeFileSync(join(dataDir, 'lock'), '')
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
  return {
    direct,
    dataDir,
    away(isAway: boolean): void {
      proxy.refuse(isAway)
      proxy.cut()
    },
    start: (more: Partial<SharedOptions['config']> = {}, masterKey = 1) =>
      startNode(masterKey, {
        ...readConfig([], {}),
        databaseUrl: url,
        nodeName: 'a',
        dataDir,
        gatewayUrl: 'http://g',
        ...STALE_NEVER,
        ...more,
      }),
  }
}

const ADDRESSES = {
  ...{ gatewayPort: 8080, platformPort: 8081, riskPort: null, metricsPort: null, redirectPort: null },
  ...{ gatewayUrl: 'http://g', baseUrl: 'http://b', riskUrl: 'http://b' },
}

const STALE_NEVER = { maxStalenessSeconds: null }

async function startNode(masterKey: number, config: SharedOptions['config']): Promise<Started> {
  const parts: { readonly name: string; readonly close: () => Promise<void> | void }[] = []
  const counts: string[] = []
  const ended: string[] = []
  const close = async (isLeft: boolean): Promise<void> => {
    for (let part = parts.pop(); part !== undefined; part = parts.pop())
      if (isLeft || part.name !== 'list of nodes') await part.close()
  }
  onTestFinished(() => close(true))
  const end = (sentence: string): never => {
    ended.push(sentence)
    throw new Error(sentence)
  }
  const vault = createVault(Buffer.alloc(32, masterKey))
  const count = (reason: string): void => void counts.push(reason)
  const opened: SharedOptions['opened'] = (name, closePart) => void parts.push({ name, close: closePart })
  const shared = await openShared({ config, addresses: ADDRESSES, vault, clock, log, count, opened }, end)
  shared.keepCopy(new Set(['thing']))
  await shared.endStart()
  shared.beginCopy()
  return { shared, counts, ended, stop: () => close(true), crash: () => close(false) }
}

/** A node that has committed a document, and has it in its copy. */
async function startWithCopy() {
  const place = await openPlace()
  const node = await place.start()
  await node.shared.registry.commit(AUTHOR, 'make', [write('a', 0, { name: 'Ada' }, { keys: { name: 'ada' } })])
  await expect.poll(() => node.shared.copyLag(), WAIT).toBe(0)
  return { ...place, node }
}

async function startApart() {
  const { node, ...place } = await startWithCopy()
  place.away(true)
  await node.crash()
  return { ...place, node: await place.start() }
}

describe('a node that starts while PostgreSQL is away', { timeout: TIMEOUT }, () => {
  it('reads its copy, and refuses everything that would change something', async () => {
    const { node } = await startApart()
    const { shared, counts } = node
    expect(shared.isJoined()).toBe(false)
    expect(counts).toContain('last_good_served')
    expect((await shared.registry.get(THING, 'a'))?.body).toEqual({ name: 'Ada' })
    expect((await shared.registry.find(THING, 'name', 'ada'))?.id).toBe('a')
    expect(await shared.registry.end()).toBe(1)
    const refused = [
      shared.registry.commit(AUTHOR, 'make', [write('b', 0, 1)]),
      shared.registry.audit(AUTHOR, 'read', { kind: 'thing', id: 'a', tenant: 'acme' }),
      shared.claims.claim('job', 'a', 1_000),
      shared.leaseEpochs.register('l-1', shared.incarnation),
      shared.nodes.list(),
    ]
    for (const each of refused) await expect(each).rejects.toThrow(StoreUnwritable)
  })

  it('joins when PostgreSQL answers, and receives what has changed since its copy', async () => {
    const { node, away, direct } = await startApart()
    const { registry, isJoined, readFrom, nodes } = node.shared
    const seen: string[] = []
    registry.watch(readFrom, ({ document }) => seen.push(`${document.id} ${document.revision}`))
    nodes.serve(readFrom)
    const change = `UPDATE change_end SET position = 2; UPDATE document SET revision = 2, body = '2' WHERE id = 'a';
      INSERT INTO change SELECT 2, gen_random_uuid(), kind, id, tenant, 2, '2', created_at_ms, updated_at_ms, false, NULL,
        author, shown_author, action FROM change WHERE position = 1`
    await executeSql(direct, change)
    away(false)
    await expect.poll(isJoined, WAIT).toBe(true)
    await expect.poll(() => seen, WAIT).toEqual(['a 2'])
    expect((await registry.get(THING, 'a'))?.body).toBe(2)
    expect((await nodes.list()).map(({ name, isLive }) => `${name} ${isLive}`)).toEqual(['a true'])
    await registry.commit(AUTHOR, 'change', [write('a', 2, 3)])
    await expect.poll(() => node.shared.copyLag(), WAIT).toBe(0)
    expect(seen).toEqual(['a 2', 'a 3'])
  })

  it('repeats a locked task that began before it joined, so that it commits under the lock', async () => {
    const { node, away } = await startApart()
    const { registry, isJoined, fences } = node.shared
    const revisions: number[] = []
    const done = createSharedMutex(fences).runExclusive(['a'], async () => {
      const { revision } = (await registry.get(THING, 'a'))!
      revisions.push(revision)
      if (revisions.length === 1) {
        away(false)
        await expect.poll(isJoined, WAIT).toBe(true)
        await registry.commit(AUTHOR, 'other', [write('b', 0, 1)])
      }
      await registry.commit(AUTHOR, 'change', [write('a', revision, 2)])
    })
    await done
    expect(revisions).toEqual([1, 1])
    expect(await registry.get(THING, 'b')).toBeNull()
  })

  it('is stale until it has joined if MAX_STALENESS_SECONDS is set', async () => {
    const { node, ...place } = await startWithCopy()
    place.away(true)
    await node.crash()
    const { shared } = await place.start({ maxStalenessSeconds: 60 })
    shared.nodes.serve(shared.readFrom)
    expect(shared.freshness?.isStale()).toBe(true)
    place.away(false)
    await expect.poll(() => shared.freshness?.isStale(), WAIT).toBe(false)
  })

  it('may start so again after it was stopped meanwhile', async () => {
    const { node, start } = await startApart()
    await node.stop()
    expect((await start()).shared.isJoined()).toBe(false)
  })

  it('ends when the registry that returns lacks the changes of its copy', async () => {
    const { node, away, direct } = await startApart()
    const other = `ALTER TABLE change DISABLE TRIGGER ALL; UPDATE change SET commit_id = gen_random_uuid()`
    await executeSql(direct, other)
    away(false)
    const lacks = /lacks changes that this node has applied/
    await expect.poll(() => node.ended[0], WAIT).toMatch(lacks)
    expect(node.shared.isJoined()).toBe(false)
  })
})

describe('a registry that was restored to an earlier point', { timeout: TIMEOUT }, () => {
  it('is found at the next start, however many changes have come since', async () => {
    const { start, node, direct } = await startWithCopy()
    expect(node.shared.wentBack).toBe(false)
    await node.crash()
    await executeSql(
      direct,
      `ALTER TABLE change DISABLE TRIGGER ALL; DELETE FROM change; DELETE FROM document; DELETE FROM document_key; UPDATE change_end SET position = 0`,
    )
    const other = await start()
    expect(other.shared.wentBack).toBe(true)
    await other.shared.registry.commit(AUTHOR, 'make', [write('b', 0, 1), write('c', 0, 1)])
    await expect.poll(() => other.shared.copyLag(), WAIT).toBe(0)
    await other.crash()
    expect((await start()).shared.wentBack).toBe(false)
  })

  it('does not lower the number of changes that a node has received', async () => {
    const { node, direct } = await startWithCopy()
    const { registry, readFrom } = node.shared
    const end = followEnd(registry, readFrom)
    await expect.poll(end, WAIT).toBe(1)
    await executeSql(direct, 'UPDATE change_end SET position = 0')
    expect(await registry.end()).toBe(0)
    expect(await end()).toBe(1)
  })
})

describe('a start without PostgreSQL is refused with one line', { timeout: TIMEOUT }, () => {
  async function refusal(start: () => Promise<Started>): Promise<string> {
    const cause = await start().then(
      () => null,
      (error: unknown) => error,
    )
    expect(cause).toBeInstanceOf(StartRefused)
    const { message } = cause as StartRefused
    expect(message).not.toContain('\n')
    return message
  }

  it('if there is no copy yet', async () => {
    const { start, away } = await openPlace()
    away(true)
    expect(await refusal(start)).toMatch(/^DATABASE_URL \(tollgate@[^)]+\) cannot be used: [^;]+$/)
  })

  it('if the data folder is a copy, also at the second start', async () => {
    const { start, away, node, dataDir } = await startWithCopy()
    await node.crash()
    writeFileSync(join(dataDir, 'lock.new'), '')
    renameSync(join(dataDir, 'lock.new'), join(dataDir, 'lock'))
    away(true)
    for (let round = 0; round < 2; round++)
      expect(await refusal(start)).toMatch(/^DATABASE_URL \(tollgate@[^)]+\) cannot be used: [^;]+$/)
    away(false)
    expect((await start()).counts).toEqual(['node_replaced'])
  })

  it('if the node has left the list, so that answers of other nodes do not name it', async () => {
    const { start, away, node } = await startWithCopy()
    await node.stop()
    away(true)
    expect(await refusal(start)).toMatch(/it left the list of nodes when it was stopped/)
    away(false)
    expect((await start()).shared.isJoined()).toBe(true)
  })

  it('if it ended before its copy had a change that it acknowledged', async () => {
    const { start, away, node, dataDir } = await startWithCopy()
    await node.crash()
    const mark = openMarkFile(join(dataDir, 'last-good.mark'))
    mark.write(2)
    mark.close()
    away(true)
    expect(await refusal(start)).toMatch(/last-good\.db lacks the last 1 changes that this node has received/)
    away(false)
    const { shared, counts } = await start()
    expect(counts).toEqual([])
    await expect.poll(() => shared.copyLag(), WAIT).toBe(0)
  })

  it('if the copy is damaged, or belongs to another MASTER_KEY or address', async () => {
    const { start, away, node, dataDir } = await startWithCopy()
    away(true)
    await node.crash()
    expect(await refusal(() => start({}, 2))).toMatch(/last-good\.db was written with another MASTER_KEY$/)
    expect(await refusal(() => start({ gatewayUrl: 'http://h' }))).toMatch(/was written for GATEWAY_URL http:\/\/g$/)
    writeFileSync(join(dataDir, 'last-good.db'), 'torn')
    expect(await refusal(start)).toMatch(/last-good\.db is damaged/)
    away(false)
    const { shared, counts } = await start()
    expect(counts).toContain('last_good_replaced')
    await expect.poll(() => shared.copyLag(), WAIT).toBe(0)
  })

  it('if PostgreSQL answers that the node must not use it, although there is a copy', async () => {
    const { start, node, direct } = await startWithCopy()
    await node.crash()
    expect(await refusal(() => start({ databaseUrl: `${direct}_none` }))).toMatch(/the database does not exist/)
    await executeSql(direct, 'UPDATE shared_format SET format = 99')
    expect(await refusal(start)).toMatch(/written by a later version of tollgate/)
  })
})

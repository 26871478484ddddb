/** From one node to several: the registry of a real service moves to PostgreSQL, and nothing changes for those who call. */

// @module-tag postgres
// @module-tag redis-server

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createClickHouseServer } from '../fixtures/clickhouse-server.ts'
import { createPostgresServer } from '../fixtures/postgres-server.ts'
import { ledgerDocument, startLedgerBackend } from './ledger-backend.ts'
import { createService, enrol, isOnPostgres, publish, type Service } from './service.ts'
import { callOne } from './several-nodes.ts'
import { tollgate } from './tollgate.ts'

const PATH = '/ledger-v1/entries?n=1'
const GATEWAY_URL = 'http://gateway.example'
const MINUTE = 60_000

interface Entry {
  readonly action: string
  readonly kind: string
  readonly id: string
}

const auditOf = async ({ platform }: Service): Promise<readonly Entry[]> =>
  (await platform.get<{ items: readonly Entry[] }>('/v1/audit?limit=200')).items

/** A start writes entries of its own, which are newer. */
async function expectAuditContinues(service: Service, before: readonly Entry[]): Promise<void> {
  const now = await auditOf(service)
  const first = now.findIndex(({ id, action }) => id === before[0]!.id && action === before[0]!.action)
  expect(now.slice(first, first + before.length)).toEqual(before)
}

// The single node of these has no registry of its own.
describe.skipIf(isOnPostgres)('tollgate migrate (needs a registry in the folder)', () => {
  it('moves a service to several nodes, with its keys and its audit log', { timeout: 4 * MINUTE }, async () => {
    const [postgres, clickHouse, backend] = await Promise.all([
      createPostgresServer(),
      createClickHouseServer(),
      startLedgerBackend(),
    ])
    onTestFinished(async () => {
      await Promise.all([postgres.remove(), clickHouse.remove(), backend.close()])
    })
    const usage = { CLICKHOUSE_URL: clickHouse.url, GATEWAY_URL }
    const service = await createService({ args: ['--empty'], env: usage })
    onTestFinished(() => service.remove())
    const { dataDir } = service
    await service.start()
    await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
    const { apiKey, subscription } = await enrol(service, 'ledger-v1')
    expect(await callOne(service, PATH, apiKey)).toBe(200)
    const before = await auditOf(service)
    expect(before.length).toBeGreaterThan(3)

    const DATABASE_URL = await postgres.createDatabase()
    const early = await tollgate(['migrate', '--from', dataDir], { DATABASE_URL })
    expect(early).toMatchObject({ code: 2, err: expect.stringContaining('is in use by another process') })
    expect(await service.stop()).toBe(0)
    const { code, out, err } = await tollgate(['migrate', '--from', dataDir], { DATABASE_URL })
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain('and compared it')
    const MASTER_KEY = readFileSync(join(dataDir, 'master.key'), 'utf8').trim()
    expect(out).not.toContain(MASTER_KEY)

    await expect(service.start()).rejects.toThrow(/has moved to PostgreSQL .*registry\.moved/)
    expect(await tollgate(['admin', 'reset', '--data-dir', dataDir])).toMatchObject({
      code: 2,
      err: expect.stringContaining('has moved to PostgreSQL'),
    })

    const shared = { DATABASE_URL, BASE_URL: 'http://platform.example', REDIS_URL: 'redis://127.0.0.1:1' }
    const env = { ...usage, ...shared, MASTER_KEY }
    const first = await createService({ args: ['--empty'], dataDir, env: { ...env, NODE_NAME: 'a' } })
    const second = await createService({ args: ['--empty'], env: { ...env, NODE_NAME: 'b' } })
    onTestFinished(() => second.remove())
    await first.start()
    await second.start()
    for (const node of [first, second]) {
      expect(await callOne(node, PATH, apiKey)).toBe(200)
      await expectAuditContinues(node, before)
    }
    await first.platform.post(`/v1/subscriptions/${subscription}/suspend`)
    for (const node of [first, second]) expect(await callOne(node, PATH, apiKey)).toBe(403)
    const changed = await tollgate(['migrate', '--from', dataDir], { DATABASE_URL })
    expect(changed).toMatchObject({ code: 2, err: expect.stringContaining('is in use by another process') })
    expect(await first.stop()).toBe(0)
    const late = await tollgate(['migrate', '--from', dataDir], { DATABASE_URL })
    expect(late).toMatchObject({ code: 2, err: expect.stringContaining('nodes have changed it since') })
  })
})

/** The usage of one node moves to a ClickHouse server: the bill of several nodes is that of the one before, and is moved once. */

// @module-tag postgres
// @module-tag redis-server

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createClickHouseServer } from '../fixtures/clickhouse-server.ts'
import { createPostgresServer } from '../fixtures/postgres-server.ts'
import { ledgerDocument, startLedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Service, isEmbedded } from './service.ts'
import { callOne } from './several-nodes.ts'
import { tollgate } from './tollgate.ts'
import { PLAIN_ENVIRONMENT } from './plain-environment.ts'

const PATH = '/ledger-v1/entries?n=1'
const GATEWAY_URL = 'http://gateway.example'
const MINUTE = 60_000
const WAIT = { timeout: MINUTE, interval: 100 }
const CALLS = 20
/** `tollgate migrate` runs it as a process of its own. */
const PROGRAM = join(import.meta.dirname, '../../src/interfaces/maintenance/migrate-command.ts')

async function bill(service: Service): Promise<unknown> {
  const { items } = await service.platform.get<{ items: readonly object[] }>(
    '/v1/summaries?groupBy=api,customer,operation',
  )
  const month = new Date().toISOString().slice(0, 7)
  const [first] = items as readonly { customer?: string }[]
  const statement = await service.platform.get<Record<string, unknown>>(
    `/v1/statements?month=${month}&consumer=${first?.customer ?? ''}`,
  )
  return { items, lines: statement['lines'] }
}

async function callsOf(service: Service): Promise<number> {
  const { items } = await service.platform.get<{ items: readonly { calls: number }[] }>('/v1/summaries?api=ledger-v1')
  return items.reduce((sum, { calls }) => sum + calls, 0)
}

/** Kills the command with SIGKILL while a statement of it is executed. */
async function killAt(
  server: Awaited<ReturnType<typeof createClickHouseServer>>,
  statement: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<void> {
  await server.fault({ kind: 'slow', ms: 2_000, statement })
  const child = spawn(process.execPath, [PROGRAM, ...args.slice(1)], {
    env: { ...PLAIN_ENVIRONMENT, ...env },
    stdio: 'ignore',
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  await expect.poll(() => server.waitingFaults(), WAIT).toBe(0)
  child.kill('SIGKILL')
  await ended
}

describe.skipIf(!isEmbedded)('tollgate migrate --usage (needs a store in the folder)', () => {
  it('moves the usage of a service once, also if it is killed', { timeout: 5 * MINUTE }, async () => {
    const [postgres, clickHouse, backend] = await Promise.all([
      createPostgresServer(),
      createClickHouseServer(),
      startLedgerBackend(),
    ])
    onTestFinished(async () => {
      await Promise.all([postgres.remove(), clickHouse.remove(), backend.close()])
    })
    const service = await createService({ args: ['--empty'], env: { GATEWAY_URL } })
    onTestFinished(() => service.remove())
    const { dataDir } = service
    await service.start()
    await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
    const { apiKey } = await enrol(service, 'ledger-v1')
    for (let call = 0; call < CALLS; call++) expect(await callOne(service, PATH, apiKey)).toBe(200)
    expect(await callOne(service, PATH, `${apiKey}x`)).toBe(401)
    await expect.poll(() => callsOf(service), WAIT).toBe(CALLS)
    const before = await bill(service)
    const readRequests = () => service.platform.get<{ items: readonly object[] }>('/v1/requests')
    await expect.poll(async () => (await readRequests()).items.length, WAIT).toBeGreaterThan(0)
    const requests = await readRequests()

    const DATABASE_URL = await postgres.createDatabase()
    const args = ['migrate', '--from', dataDir, '--usage']
    const env = { DATABASE_URL, CLICKHOUSE_URL: clickHouse.url }
    expect(await tollgate(args, { DATABASE_URL })).toMatchObject({ code: 2 })
    expect(await tollgate(args, env)).toMatchObject({ code: 2, err: expect.stringContaining('in use by another') })
    // Calls that are only in the spool.
    await callOne(service, PATH, apiKey)
    await service.kill()
    await killAt(clickHouse, 'ATTACH PARTITION', args, env)
    const { code, out, err } = await tollgate(args, env)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain('compared counts and sums')

    const MASTER_KEY = readFileSync(join(dataDir, 'master.key'), 'utf8').trim()
    const node = await createService({
      args: ['--empty'],
      env: { ...env, GATEWAY_URL, MASTER_KEY, REDIS_URL: 'redis://127.0.0.1:1', NODE_NAME: 'a' },
    })
    onTestFinished(() => node.remove())
    await node.start()
    expect(await callsOf(node)).toBe(CALLS + 1)
    expect(await node.platform.get('/v1/requests')).toMatchObject({ items: requests.items })
    expect(before).toMatchObject({ items: [{ calls: CALLS }] })
    expect(await bill(node)).toMatchObject({ items: [{ calls: CALLS + 1 }], lines: [{ calls: CALLS + 1 }] })

    // The registry has changed since. A second run stores nothing.
    await callOne(node, PATH, apiKey)
    await expect.poll(() => callsOf(node), WAIT).toBe(CALLS + 2)
    await node.platform.post('/v1/consumers', { kind: 'application', name: 'Later' })
    const late = await tollgate(args, env)
    expect(late).toMatchObject({ code: 0, out: expect.stringContaining('has moved to PostgreSQL before') })
    const parts = [...late.out.matchAll(/^ {2}\w+ +(\d+) parts? \(.*\)(?:, (\d+) of them earlier)?$/gm)]
    expect(parts.length).toBeGreaterThan(3)
    for (const [, all, earlier] of parts) expect(earlier).toBe(all)
    expect(await callsOf(node)).toBe(CALLS + 2)
  })
})

// @module-tag postgres

import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../../src/foundation/runtime/clock.ts'
import { RegistryUnreachable, toClientConfig } from '../../../src/storage/store/postgres/connection.ts'
import { createPostgresLeases } from '../../../src/storage/store/postgres/leases.ts'
import { migrateSchema } from '../../../src/storage/store/postgres/migrate-schema.ts'
import { createPostgresServer, type PostgresServer } from '../../fixtures/postgres-server.ts'

let server: PostgresServer
let pool: pg.Pool
beforeAll(async () => {
  server = await createPostgresServer()
  pool = new pg.Pool({ ...toClientConfig({ url: await server.createDatabase(), nodeName: 'a' }), max: 1 })
})
afterAll(async () => {
  await pool.end()
  await server.remove()
})

it('Slices from PostgreSQL pause for a second after failures, though the clock of the system is set back meanwhile', async () => {
  const time = { wallMs: 10_000_000, monotonicMs: 0 }
  const clock = { ...systemClock, nowMs: () => time.wallMs }
  const leases = createPostgresLeases({ pool, nodeName: 'a', clock, monotonicMs: () => time.monotonicMs })
  const taken = await pool.connect()
  await migrateSchema(taken)
  while (!leases.isOpen) await expect(leases.send({ type: 'hello' })).rejects.toThrow(RegistryUnreachable)
  taken.release()
  time.wallMs -= 3_600_000
  await expect(leases.send({ type: 'hello' })).rejects.toThrow('requests for slices are paused')
  time.monotonicMs += 1_000
  await expect(leases.send({ type: 'hello' })).resolves.toMatchObject({ type: 'generation' })
  expect(leases.isOpen).toBe(false)
})

/** Commands on a data folder with malformed addresses: no message repeats a password. */

import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { systemClock as clock } from '../../src/foundation/runtime/clock.ts'
import { openSqliteRegistry } from '../../src/storage/store/sqlite/registry.ts'
import { PLAIN_ENVIRONMENT } from './plain-environment.ts'

const COMMANDS = join(import.meta.dirname, '../../src/interfaces/maintenance')
const folder = mkdtempSync(join(tmpdir(), 'tollgate-commands-'))
afterAll(() => rmSync(folder, { recursive: true }))

const SLIPS = ['//user:hunter2@db', ':user:hunter2@127.0.0.1:1/x', '://user:1/hunter2@127.0.0.1/x']
const NODE = {
  DATABASE_URL: 'postgres://user:hunter2@127.0.0.1:1/x',
  CLICKHOUSE_URL: 'http://user:hunter2@127.0.0.1:1',
  MASTER_KEY: 'ab'.repeat(32),
}

describe.each([
  ['admin-command', ['reset']],
  ['backup-command', ['copy']],
  ['drain-command', ['--data-dir', folder]],
  ['migrate-command', ['--from', folder, '--usage']],
  ['recover-command', ['--data-dir', folder, '--accept-loss', 'store']],
])('%s', (command, args) => {
  it.each([
    ...SLIPS.map((slip) => ({ DATABASE_URL: `postgres${slip}` })),
    ...SLIPS.map((slip) => ({ CLICKHOUSE_URL: `http${slip}` })),
  ])('prints no password with %j', (environment) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(COMMANDS, `${command}.ts`), ...args], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...PLAIN_ENVIRONMENT, ...NODE, DATA_DIR: join(folder, 'none'), ...environment },
    })
    expect(stdout + stderr).not.toContain('hunter2')
    expect(status).toBe(2)
  })
})

it('admin reset refuses a GATEWAY_URL with a password, which its link would contain', () => {
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  openSqliteRegistry({ path: join(dataDir, 'registry.db'), clock }).close()
  const GATEWAY_URL = 'https://user:hunter2@gateway.example'
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(COMMANDS, 'admin-command.ts'), 'reset'], {
    encoding: 'utf8',
    env: { ...PLAIN_ENVIRONMENT, MASTER_KEY: NODE.MASTER_KEY, DATA_DIR: dataDir, GATEWAY_URL },
  })
  const reason = 'tollgate: GATEWAY_URL takes an http or https address without user and password\n'
  expect({ status, stdout, stderr }).toEqual({ status: 2, stdout: '', stderr: reason })
})

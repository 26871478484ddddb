/** Commands on a data folder with malformed addresses: no message repeats a password. */

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { PLAIN_ENVIRONMENT } from './plain-environment.ts'

const COMMANDS = join(import.meta.dirname, '../../src/maintenance')
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

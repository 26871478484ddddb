/** A first start that is killed after it has created one of the parts of the data folder. */

import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, watch } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SRC, startOn } from './folder-copies.ts'
import { PLAIN_ENVIRONMENT } from './plain-environment.ts'

describe('a first start that is killed', () => {
  it.each([
    'master.key',
    'registry.db',
    'registry.mark',
    'idempotency.db',
    'clickhouse',
    'checkpoint.db',
    'spool',
    'folder.json',
  ])('leaves a folder that starts: after the creation of %s', async (file) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-first-'))
    await killedAt(dataDir, file)
    await startOn(dataDir)
  })
})

/** Starts the service on an empty folder and kills it when `file` appears. */
async function killedAt(dataDir: string, file: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const watcher = watch(dataDir, () => {
    if (existsSync(join(dataDir, file))) child.kill('SIGKILL')
  })
  const child = spawn(process.execPath, [join(SRC, 'main.ts'), '--empty'], {
    env: { ...PLAIN_ENVIRONMENT, DATA_DIR: dataDir, GATEWAY_PORT: '0', PLATFORM_PORT: '0', LOG_LEVEL: 'silent' },
    stdio: 'ignore',
  })
  child.once('exit', () => resolve())
  await promise
  watcher.close()
  expect(child.signalCode).toBe('SIGKILL')
}

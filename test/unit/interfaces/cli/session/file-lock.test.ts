import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lockFile } from '../../../../../src/interfaces/cli/session/file-lock.ts'

const MODULE = join(import.meta.dirname, '../../../../../src/interfaces/cli/session/file-lock.ts')

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lock-'))
  path = join(folder, 'file.lock')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Starts a process that prints `held` when it has the lock; it keeps the lock until it is killed or its input ends. */
function startHolder(): ChildProcess {
  const script = `
    import { lockFile } from ${JSON.stringify(MODULE)}
    const unlock = await lockFile(${JSON.stringify(path)})
    console.log('held')
    for await (const _ of process.stdin);
    unlock()`
  return spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
}

describe('a lock', () => {
  it('is held by one process at a time, and is free at once when that process is killed', async () => {
    const holder = startHolder()
    await once(holder.stdout!, 'data')
    await expect(lockFile(path, 0)).rejects.toThrow(`Another tollgate command holds ${path}.`)
    const closed = once(holder, 'close')
    holder.kill('SIGKILL')
    await closed
    const unlock = await lockFile(path, 0)
    await expect(lockFile(path, 0)).rejects.toThrow('Another tollgate command holds')
    unlock()
  })

  it('of which a killed command left the file is held by one of several that want it', async () => {
    writeFileSync(path, '')
    utimesSync(path, 0, 0)
    let [holders, most] = [0, 0]
    const hold = async (): Promise<void> => {
      const unlock = await lockFile(path)
      most = Math.max(most, ++holders)
      await new Promise((resolve) => setImmediate(resolve))
      holders--
      unlock()
    }
    await Promise.all(Array.from({ length: 8 }, hold))
    expect(most).toBe(1)
  })

  it('is a file of its owner, without content and without others beside it', async () => {
    const unlock = await lockFile(path)
    expect(statSync(path)).toMatchObject({ size: 0 })
    expect(statSync(path).mode & 0o777).toBe(0o600)
    unlock()
    expect(readdirSync(folder)).toEqual(['file.lock'])
  })

  it('is refused if the file has other content', async () => {
    writeFileSync(path, 'something else that is no database'.repeat(100))
    await expect(lockFile(path, 0)).rejects.toThrow(`${path} cannot be locked: file is not a database. Remove it.`)
  })
})

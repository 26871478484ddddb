import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const MAIN = join(import.meta.dirname, '../../../../src/main.ts')
const MODULE = join(import.meta.dirname, '../../../../src/foundation/runtime/thread-pool.ts')
const WORK = `
  await import(${JSON.stringify(MODULE)})
  const { pbkdf2 } = await import('node:crypto')
  const { readdirSync } = await import('node:fs')
  const count = () => readdirSync('/proc/self/task').length
  const before = count()
  await new Promise((resolve) => pbkdf2('a', 'b', 1, 8, 'sha512', resolve))
  process.stdout.write(String(count() - before))
`

/** Returns how many threads begin with the first task of the pool. */
function poolThreads(env: Readonly<Record<string, string>>): number {
  const { UV_THREADPOOL_SIZE: _, ...others } = process.env
  return Number(
    execFileSync(process.execPath, ['--input-type=module', '-e', WORK], {
      env: { ...others, ...env, NODE_OPTIONS: '' },
      encoding: 'utf8',
      timeout: 20_000,
    }),
  )
}

describe.runIf(process.platform === 'linux')('the thread pool (needs /proc of Linux)', () => {
  it('has room for statements of the embedded store, files and signatures, and for look-ups of every thread of the service', () => {
    expect(poolThreads({})).toBe(Math.min(128, 12 + 8 * availableParallelism()))
  })

  it('keeps a size that is set', () => {
    expect(poolThreads({ UV_THREADPOOL_SIZE: '2' })).toBe(2)
  })

  it('is sized by the first import of the service', () => {
    const [first] = readFileSync(MAIN, 'utf8').match(/^import .*$/m) ?? []
    expect(first).toBe("import './foundation/runtime/thread-pool.ts'")
  })
})

/** The memory of a service that has started, and of one that is idle. */

import { readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { checkOwnDocument, workers } from './document-thread.ts'
import { createService, isEmbedded, type Service } from './service.ts'

const IS_LINUX = process.platform === 'linux'
/** The service releases memory half a minute after its start; the thread for documents ends after twenty idle seconds: `quick-timers.ts`. */
const QUICK = { NODE_OPTIONS: `--import ${new URL('quick-timers.ts', import.meta.url).href}` }
const WAIT = { timeout: 180_000, interval: 100 }
/** A start has 193 of the engine resident, of which 13 are changed. */
const ENGINE_READ_MIB = 193
const IDLE_MIB_MAX = 350

let idle: Service

beforeAll(async () => {
  if (!IS_LINUX) return
  idle = await createService({ args: ['--empty', '--gateway-threads=1'], env: QUICK })
  await idle.start()
  // Its thread ends while memory is released.
  await checkOwnDocument(idle)
})
afterAll(() => idle?.remove())

describe.runIf(IS_LINUX)('a service until it is idle (needs /proc of Linux)', () => {
  it.skipIf(!isEmbedded || !isBuiltin('node:ffi'))(
    'holds less than half of the pages of the engine that its start read (needs node:ffi and the store in the folder)',
    async () => {
      expect(residentMib(idle.pid()).engine).toBeGreaterThan(0)
      await vi.waitFor(() => expect(residentMib(idle.pid()).engine).toBeLessThan(ENGINE_READ_MIB / 2), WAIT)
    },
  )

  it.runIf(isBuiltin('node:ffi'))('then takes at most 350 MiB of memory (needs node:ffi)', async () => {
    await vi.waitFor(() => expect(workers(idle.pid())).not.toContain('document'), WAIT)
    await vi.waitFor(() => expect(residentMib(idle.pid()).all).toBeLessThan(IDLE_MIB_MAX), WAIT)
  })
})

/** Resident memory of the process, and of the mappings of the engine's library. */
function residentMib(pid: number): { readonly all: number; readonly engine: number } {
  const sizes = readFileSync(`/proc/${pid}/smaps`, 'utf8').split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m)
  const sum = (mappings: readonly string[]): number =>
    mappings.reduce((kib, text) => kib + Number(/^Rss: +(\d+)/m.exec(text)?.[1]), 0) / 1_024
  return { all: sum(sizes), engine: sum(sizes.filter((text) => /libchdb\.so$/m.test(text))) }
}

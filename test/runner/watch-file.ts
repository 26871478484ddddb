/**
 * Setup file: notes what each test file uses and leaves behind, in its `meta`.
 *
 * `cpuSeconds` includes the processes that the file has started. A worker counts what was used since its previous file, so that
 * loading modules belongs to the first file that needs them. A process that still runs after the last hook of the file is ended.
 */

import { afterAll, afterEach } from 'vitest'
import { outputsOfServices } from '../fixtures/service-outputs.ts'
import { isKept } from './kept-processes.ts'
import { childrenOf, cpuSecondsOf, descendantsOf, killAll } from './processes.ts'

declare module 'vitest' {
  interface TaskMeta {
    cpuSeconds?: number
    /** Process id and command of each process. */
    leftBehind?: readonly string[]
  }
}

const worker = globalThis as { cpuSecondsBefore?: number }

// vitest asks for the pattern.
// oxlint-disable-next-line no-empty-pattern
afterAll(({}, file) => {
  const running = descendantsOf(process.pid)
  const total = [process.pid, ...running.map(({ pid }) => pid)].reduce((sum, pid) => sum + cpuSecondsOf(pid), 0)
  file.meta.cpuSeconds = total - (worker.cpuSecondsBefore ?? 0)
  worker.cpuSecondsBefore = total
  // A process that has ended, and that its parent has not waited for yet, has no arguments.
  const kept = new Set(
    childrenOf(process.pid).flatMap((pid) => (isKept(pid) ? [pid, ...descendantsOf(pid).map((each) => each.pid)] : [])),
  )
  const left = running.filter(({ pid, command }) => command !== '' && !kept.has(pid))
  if (left.length > 0) file.meta.leftBehind = left.map(({ pid, command }) => `${pid} ${command}`)
  killAll(left)
})

afterEach(({ task }) => {
  if (task.result?.state !== 'fail') return
  for (const [dataDir, text] of outputsOfServices()) console.error(`The service on ${dataDir} printed:\n${text}`)
})

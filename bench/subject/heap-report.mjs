/** Preloaded into every thread of a service: writes the size of the thread's heap to a file of `HEAP_REPORTS` every two seconds. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getHeapStatistics } from 'node:v8'
import { threadId, threadName } from 'node:worker_threads'

const PERIOD_MS = 2_000

const file = join(process.env['HEAP_REPORTS'], String(threadId))
const report = () => {
  const { total_physical_size: heapBytes, external_memory: externalBytes } = getHeapStatistics()
  const thread = threadId === 0 ? 'the main thread' : threadName
  writeFileSync(file, JSON.stringify({ thread, heapBytes, externalBytes }))
}
setInterval(report, PERIOD_MS).unref()

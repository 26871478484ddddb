/** A thread for the tests of the pool: jobs that wait for the test, fail, or end their thread. */

import { Problem } from '../../../../src/foundation/domain/problem.ts'
import { jobKind } from '../../../../src/foundation/jobs/job-kind.ts'
import { handles, serveJobs } from '../../../../src/foundation/jobs/serve-jobs.ts'

/** Sets the first cell, then waits until the second is set. */
export const HOLD = jobKind<Int32Array, string>('hold')
/** Like `HOLD`, after a partial answer. */
export const HOLD_PARTLY = jobKind<Int32Array, string>('hold partly')
export const EXHAUST = jobKind<null, void>('exhaust')
export const EXIT = jobKind<null, void>('exit')
export const REFUSE = jobKind<null, void>('refuse')
export const FAIL = jobKind<null, void>('fail')
/** Returns the number of bytes. */
export const MEASURE = jobKind<Uint8Array, number>('measure')
export const UNKNOWN = jobKind<null, void>('unknown')

function hold(cells: Int32Array): string {
  Atomics.store(cells, 0, 1)
  Atomics.notify(cells, 0)
  Atomics.wait(cells, 1, 0)
  return 'released'
}

serveJobs([
  handles(HOLD, async (cells) => hold(cells)),
  handles(HOLD_PARTLY, async (cells, onPartial) => {
    onPartial('partial')
    return hold(cells)
  }),
  handles(MEASURE, async (bytes) => bytes.length),
  handles(EXHAUST, async () => {
    const kept: unknown[] = []
    for (;;) kept.push(new Array(4_000_000).fill(kept))
  }),
  handles(EXIT, async () => process.exit(0)),
  handles(REFUSE, async () => {
    const errors = [{ pointer: '/paths', detail: 'missing' }]
    throw new Problem('breaking_change', 'No.', { errors, extensions: { changes: [1] } })
  }),
  handles(FAIL, async () => {
    throw new TypeError('a bug')
  }),
])

/**
 * Sets the size of libuv's thread pool, which all threads of the process share. Must be imported before anything uses the pool.
 *
 * Each statement of the embedded store occupies a thread of the pool while it runs, and up to seven run at once. With the default of
 * four threads, four long reads would delay the files, name lookups and signatures of every call.
 *
 * Lookups of names occupy half of the pool at most. Each thread of the service may have four of names whose servers do not answer
 * (`foundation/outbound/shared-resolve.ts`), which must leave some for other names.
 */

import { availableParallelism } from 'node:os'

const OTHERS = 12
const PER_THREAD = 8
const THREADS_MAX = 128

process.env['UV_THREADPOOL_SIZE'] ??= String(Math.min(THREADS_MAX, OTHERS + PER_THREAD * availableParallelism()))

/**
 * Ends the process without the exit handlers of the libraries that it has loaded.
 *
 * The embedded engine stops its threads in such a handler, which now and then waits for one of them for ever: under load, about one
 * stop of ten never ended (ADR 46). Whatever must be stored is stored before. Without Node's foreign function interface, the
 * handlers run.
 */

import { flushCompileCache } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import { loadForeignFunctions } from './foreign-functions.ts'

const EXIT = { arguments: ['int32'], return: 'void' } as const
/** Node writes these when it ends as usual. */
const WRITTEN_AT_EXIT = /^--(cpu-prof|heap-prof|trace-event)/

let isAtOnce = false

/** From now on, the process ends at once, after the listeners of `exit` that exist already. */
export function exitAtOnce(load = loadForeignFunctions): void {
  if (isAtOnce || !isMainThread || process.execArgv.some((option) => WRITTEN_AT_EXIT.test(option))) return
  isAtOnce = true
  process.on('exit', (code) => {
    try {
      const library = load()?.dlopen(null, { _exit: EXIT })
      if (library === undefined) return
      flushCompileCache()
      library.functions._exit(code)
    } catch {
      // Another version of the interface, or a permission that is missing.
    }
  })
}

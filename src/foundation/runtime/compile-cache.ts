/**
 * Keeps compiled modules on disk: a start that compiles all of them takes half as much CPU again.
 *
 * `NODE_COMPILE_CACHE` names another folder, and `NODE_DISABLE_COMPILE_CACHE=1` keeps nothing. A folder that cannot be written
 * costs the time and nothing else.
 */

import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, '../../../node_modules/.cache/tollgate')

/** Applies to modules that are loaded later, and to threads and processes that are started later. */
export function keepCompiledModules(): void {
  // Threads read the variable, not the state of this one.
  process.env['NODE_COMPILE_CACHE'] ??= FOLDER
  enableCompileCache(process.env['NODE_COMPILE_CACHE'])
}

/** Global setup: workers and the processes of all tests keep compiled modules. A start that compiles all modules takes twice as much CPU. */

import { join } from 'node:path'

export const COMPILE_CACHE = join(import.meta.dirname, '../node_modules/.cache/tollgate')

export default function keepCompiledModules(): void {
  process.env['NODE_COMPILE_CACHE'] = COMPILE_CACHE
}

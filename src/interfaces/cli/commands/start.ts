/** `tollgate start`: the service, with the settings of the environment and the flags of `npm start`. */

import { join } from 'node:path'
import { becomeModule } from '../run-module.ts'

const MAIN = join(import.meta.dirname, '../../../main.ts')

export function runStart(args: readonly string[]): Promise<number> {
  return becomeModule(MAIN, args)
}

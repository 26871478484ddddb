/** `tollgate demo`: the demo in a process of its own, which ends with its last screen at Ctrl-C. */

import { join } from 'node:path'
import { runModule } from '../run-module.ts'

const DEMO = join(import.meta.dirname, '../demo.ts')

export function runDemo(args: readonly string[]): Promise<number> {
  return runModule(DEMO, args)
}

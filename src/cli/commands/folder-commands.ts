/** Commands on a data folder, which run in a process of their own with the modules of the service. */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { EXIT_TROUBLE } from '../exit-codes.ts'

const FOLDER = join(import.meta.dirname, '../../maintenance')

export async function runOnFolder(name: string, args: readonly string[]): Promise<number> {
  const { status } = spawnSync(process.execPath, [join(FOLDER, `${name}-command.ts`), ...args], { stdio: 'inherit' })
  return status ?? EXIT_TROUBLE
}

/** Commands on a data folder, which run in a process of their own with the modules of the service. */

import { join } from 'node:path'
import { runModule } from '../run-module.ts'

/** Literal paths, because the build gives them the extension of the package. */
const MODULES = {
  admin: '../../maintenance/admin-command.ts',
  backup: '../../maintenance/backup-command.ts',
  restore: '../../maintenance/restore-command.ts',
  recover: '../../maintenance/recover-command.ts',
  migrate: '../../maintenance/migrate-command.ts',
  drain: '../../maintenance/drain-command.ts',
  spool: '../../maintenance/spool-command.ts',
} as const

export type FolderCommand = keyof typeof MODULES

export function runOnFolder(name: FolderCommand, args: readonly string[]): Promise<number> {
  return runModule(join(import.meta.dirname, MODULES[name]), args)
}

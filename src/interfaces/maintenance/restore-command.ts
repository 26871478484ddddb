/**
 * `tollgate restore`: copies a backup into a new data folder.
 *
 * Exit codes: 0 done, 2 refused.
 */

import type { Manifest } from '../../storage/backup/manifest.ts'
import { restoreBackup } from '../../storage/backup/restore-backup.ts'
import { parseCommand, runCommand } from './folder-command.ts'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'

const OPTIONS = { 'data-dir': { type: 'string' }, help: { type: 'boolean' } } as const
const HELP = `tollgate restore DIR --data-dir NEW

Compares the backup in DIR with its manifest and copies it to NEW. NEW must not exist, or must be empty. Then start the service with
DATA_DIR set to NEW, and with the MASTER_KEY and CLICKHOUSE_URL of the original service, if it had them.
`

await runCommand(run)

function run(args: string[]): string {
  const { values, positionals } = parseCommand(args, OPTIONS, HELP)
  if (values.help === true) return HELP
  const target = values['data-dir']
  const [backup] = positionals
  if (backup === undefined || positionals.length > 1)
    throw new StartRefused(`restore takes exactly one backup folder\n\n${HELP}`)
  if (target === undefined) throw new StartRefused(`restore needs --data-dir, the folder to restore to\n\n${HELP}`)
  return describe(target, restoreBackup(backup, target))
}

function describe(target: string, { at, hasMasterKey, server, calls }: Manifest): string {
  return [
    `Restored to ${target}, as of ${at}: ${calls.stored ?? 'unknown'} calls in the store, ${calls.inSpool} in the spool.`,
    hasMasterKey ? null : '  Start it with the MASTER_KEY of the original service.',
    server === null
      ? null
      : `  The backup does not include the store: set CLICKHOUSE_URL to a store that is not older than the backup (${server}).`,
    '  Credentials and tokens that were revoked after this time are active again; revoke them again.',
    '',
  ]
    .filter((line) => line !== null)
    .join('\n')
}

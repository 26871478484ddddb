/**
 * `tollgate restore`: brings a backup up in a new data folder.
 *
 * Exit codes: 0 done, 2 refused.
 */

import { parseArgs } from 'node:util'
import type { Manifest } from './backup/manifest.ts'
import { restoreBackup } from './backup/restore-backup.ts'
import { StartRefused } from './runtime/start-refused.ts'

const EXIT_REFUSED = 2
const HELP = `tollgate restore DIR --data-dir NEW

Compares the backup in DIR with its manifest and copies it to NEW, which must not exist or be empty. Then start the service with
NEW as its DATA_DIR, and with the MASTER_KEY and CLICKHOUSE_URL of the service that was backed up, if it had them.
`

process.umask(0o077)
try {
  process.stdout.write(run(process.argv.slice(2)))
} catch (cause) {
  if (!(cause instanceof StartRefused)) throw cause
  process.stderr.write(`tollgate: ${cause.message}\n`)
  process.exitCode = EXIT_REFUSED
}

function run(args: string[]): string {
  const { values, positionals } = parse(args)
  if (values.help === true) return HELP
  const target = values['data-dir']
  const [backup] = positionals
  if (backup === undefined || positionals.length > 1) throw new StartRefused(`restore takes one backup\n\n${HELP}`)
  if (target === undefined) throw new StartRefused(`restore takes --data-dir, the folder to restore to\n\n${HELP}`)
  return describe(target, restoreBackup(backup, target))
}

function describe(target: string, { at, hasMasterKey, server, calls }: Manifest): string {
  return [
    `Restored to ${target}, as of ${at}: ${calls.stored ?? 'unknown'} calls in the store, ${calls.inSpool} in the spool.`,
    hasMasterKey ? null : '  Start it with the MASTER_KEY of the service that was backed up.',
    server === null
      ? null
      : `  The store is not part of it: start it with CLICKHOUSE_URL, on a store that is not older than the backup (${server}).`,
    '  Credentials and tokens that were revoked after that moment are active again; revoke them.',
    '',
  ]
    .filter((line) => line !== null)
    .join('\n')
}

function parse(args: string[]) {
  const options = { 'data-dir': { type: 'string' }, help: { type: 'boolean' } } as const
  try {
    return parseArgs({ args, options, allowPositionals: true })
  } catch (cause) {
    throw new StartRefused(`${cause instanceof Error ? cause.message : String(cause)}\n\n${HELP}`)
  }
}

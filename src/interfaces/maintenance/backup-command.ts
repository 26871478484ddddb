/**
 * `tollgate backup`: copies the data folder of a running or stopped service, and verifies the copy.
 *
 * Exit codes: 0 done, 2 refused. A refused or interrupted backup leaves no files.
 */

import { takeBackup } from '../../storage/backup/take-backup.ts'
import type { Manifest } from '../../storage/backup/manifest.ts'
import { EXIT_REFUSED, parseCommand, runCommand } from './folder-command.ts'
import { readStoreSettings } from './store-settings.ts'
import { readVersion } from '../../foundation/runtime/version.ts'
import { systemClock as clock } from '../../foundation/runtime/clock.ts'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'
import { withoutCredentials } from '../../storage/store/clickhouse/client.ts'

const OPTIONS = { 'data-dir': { type: 'string' }, help: { type: 'boolean' } } as const
const HELP = `tollgate backup DIR [--data-dir DATA_DIR]

Copies DATA_DIR (default: $DATA_DIR, else ./data) to DIR and verifies the copy. DIR must not exist, or must be empty. The service
may be running or stopped. Run the command as the user of the service, on its machine or in its container. Restore the copy with
tollgate restore.
`

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    process.stderr.write('tollgate: interrupted; no backup was made\n')
    process.exit(EXIT_REFUSED)
  })
}
await runCommand(run)

async function run(args: string[]): Promise<string> {
  const { values, positionals } = parseCommand(args, OPTIONS, HELP)
  if (values.help === true) return HELP
  const [target] = positionals
  if (target === undefined || positionals.length > 1)
    throw new StartRefused(`backup takes exactly one folder\n\n${HELP}`)
  const { clickhouseUrl: url } = readStoreSettings()
  const manifest = await takeBackup({
    dataDir: values['data-dir'] ?? (process.env['DATA_DIR'] || './data'),
    target,
    version: readVersion(),
    nowMs: clock.nowMs,
    server: url === null ? null : withoutCredentials(url),
  })
  return describe(target, manifest)
}

function describe(
  target: string,
  { at, dataDir, wasRunning, hasMasterKey, server, calls, files, checkpoint }: Manifest,
) {
  const bytes = files.reduce((sum, file) => sum + ('bytes' in file ? file.bytes : 0), 0)
  const { stored, inSpool } = calls
  return [
    `Backup of ${dataDir} (${wasRunning ? 'running' : 'stopped'}) as of ${at}: ${target}, verified.`,
    `  calls       ${stored ?? 'unknown'} in the store, ${inSpool} in the spool; the restored service bills those in the spool` +
      (checkpoint.isFlushPending ? ', except those that the store already has' : ''),
    `  files       ${files.length}, ${bytes} bytes`,
    hasMasterKey
      ? '  master.key  included: anyone who can read the folder can decrypt its secrets'
      : '  master.key  NOT included: keep the MASTER_KEY of the service; the copy cannot be used without it',
    server === null
      ? '  store       included'
      : `  store       NOT included: line items, service levels, request log and risk history are in ${server}; back that up as well`,
    '',
  ].join('\n')
}

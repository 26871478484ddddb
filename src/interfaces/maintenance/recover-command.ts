/**
 * `tollgate recover`: accepts the loss of parts of a data folder, directly on the folder of a service that is stopped.
 *
 * Holds the folder's lock while it works, so it is refused while the service runs. Exit codes: 0 done, 2 refused.
 */

import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseCommand, runCommand } from './folder-command.ts'
import { readStoreSettings } from './store-settings.ts'
import { recover } from '../../storage/recovery/recover.ts'
import { LOSS_PARTS, type LossPart } from '../../foundation/runtime/accept-loss.ts'
import { systemClock as clock } from '../../foundation/runtime/clock.ts'
import { createIdFactory } from '../../foundation/runtime/ids.ts'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'
import type { Registry } from '../../storage/store/registry.ts'
import { lockDataFolder } from '../../storage/store/sqlite/data-folder.ts'
import { findOperator } from '../../control/access/platform-access.ts'

const OPTIONS = {
  'accept-loss': { type: 'string', multiple: true },
  'data-dir': { type: 'string' },
  help: { type: 'boolean' },
} as const
const HELP = `tollgate recover --accept-loss PART [--accept-loss PART …] [--data-dir DIR]

Accepts the loss of a part whose absence or damage blocks startup: ${LOSS_PARTS.join(', ')}. Stop the service first.
Moves the old files to DIR/lost, prints what was lost and records it in the audit log.
DIR is the service's DATA_DIR (default: $DATA_DIR, else ./data). If the service runs with MASTER_KEY, CLICKHOUSE_URL or DATABASE_URL,
set them here too.
`

await runCommand(run)

async function run(args: string[]): Promise<string> {
  const { values, positionals } = parseCommand(args, OPTIONS, HELP)
  if (positionals.length > 0) throw new StartRefused(`recover does not take the argument ${positionals[0]}\n\n${HELP}`)
  if (values.help === true) return HELP
  const dataDir = resolve(values['data-dir'] ?? (process.env['DATA_DIR'] || './data'))
  const parts = toParts(values['accept-loss'] ?? [])
  if (!existsSync(dataDir)) throw new StartRefused(`${dataDir} does not exist; --data-dir names the data folder`)
  const unlock = lockDataFolder(dataDir)
  try {
    const losses = await recover({
      dataDir,
      parts,
      hasMasterKey: Boolean(process.env['MASTER_KEY']),
      openShared: sharedRegistry(parts),
      ...readStoreSettings(),
      clock,
      newInstance: () => randomBytes(8).toString('hex'),
      createId: createIdFactory(clock.nowMs),
      tenantOf: async (registry) => (await findOperator(registry)) ?? (process.env['ADMIN_TENANT'] || 'default'),
    })
    return losses.map(({ part, loss }) => `${part}: ${loss}\n`).join('')
  } finally {
    unlock()
  }
}

/** Returns null if the registry is in the folder. */
function sharedRegistry(parts: ReadonlySet<LossPart>): (() => Promise<Registry>) | null {
  const { DATABASE_URL: url = '' } = process.env
  if (url === '') return null
  if (parts.has('registry'))
    throw new StartRefused('with DATABASE_URL the registry is in PostgreSQL: restore it there (docs/nodes/backup.md)')
  return async () => {
    const { openPostgres } = await import('../../storage/store/postgres/open-postgres.ts')
    const postgres = await openPostgres({
      url,
      nodeName: 'recover',
      clock,
      isCommand: true,
      onFailed: () => {},
      onRewound: () => {},
      onReplaced: () => {},
    })
    return { ...postgres.registry, close: postgres.close }
  }
}

function toParts(names: readonly string[]): ReadonlySet<LossPart> {
  const unknown = names.find((name) => !LOSS_PARTS.some((part) => part === name))
  if (unknown !== undefined || names.length === 0) {
    throw new StartRefused(`--accept-loss must be one of ${LOSS_PARTS.join(', ')}\n\n${HELP}`)
  }
  return new Set(LOSS_PARTS.filter((part) => names.includes(part)))
}

/**
 * `tollgate admin reset`: replaces a lost admin secret and makes a link for an owner, directly on the data folder of a service that is stopped.
 *
 * Holds the folder's lock while it works, so it is refused while the service runs. Exit codes: 0 done, 2 refused.
 */

import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { resetAdmin } from '../access/admin-replacement.ts'
import { parseCommand, runCommand } from './folder-command.ts'
import { systemClock as clock } from '../runtime/clock.ts'
import { createIdFactory } from '../runtime/ids.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { createVault, loadMasterKey } from '../runtime/vault.ts'
import { lockDataFolder } from '../store/sqlite/data-folder.ts'
import { refuseMoved } from '../store/sqlite/moved-registry.ts'
import { openSqliteRegistry } from '../store/sqlite/registry.ts'

const OPTIONS = { 'data-dir': { type: 'string' }, help: { type: 'boolean' } } as const
const HELP = `tollgate admin reset [--data-dir DIR]

Creates a new admin credential, prints it once, and revokes the earlier ones. Also prints a one-time link with which
an owner sets a password; a tenant without an owner gets one. Stop the service first.
DIR is the service's DATA_DIR (default: $DATA_DIR, else ./data). If the service runs with MASTER_KEY, set it here too.
Set GATEWAY_URL to the service's; the link begins with it (default: http://127.0.0.1:8080).
`

await runCommand(run)

async function run(args: string[]): Promise<string> {
  const { values, positionals } = parseCommand(args, OPTIONS, HELP)
  if (values.help === true) return HELP
  if (positionals.join(' ') !== 'reset') throw new StartRefused(`the only admin command is reset\n\n${HELP}`)
  const folder = resolve(values['data-dir'] ?? (process.env['DATA_DIR'] || './data'))
  const masterKey = process.env['MASTER_KEY'] || null
  if (!existsSync(join(folder, 'registry.db'))) {
    throw new StartRefused(`${folder} is not a data folder of tollgate; --data-dir names it`)
  }
  if (masterKey === null && !existsSync(join(folder, 'master.key'))) {
    throw new StartRefused(`${folder} has no master.key; set MASTER_KEY to the key of the service`)
  }
  refuseMoved(folder)
  const unlock = lockDataFolder(folder)
  try {
    return await reset(folder, masterKey)
  } finally {
    unlock()
  }
}

async function reset(folder: string, masterKey: string | null): Promise<string> {
  const vault = createVault(loadMasterKey({ dataDir: folder, masterKey }))
  const registry = openSqliteRegistry({ path: join(folder, 'registry.db'), clock })
  try {
    const createId = createIdFactory(clock.nowMs)
    const gatewayUrl = (process.env['GATEWAY_URL'] || 'http://127.0.0.1:8080').replace(/\/+$/, '')
    const made = await resetAdmin({ registry, vault, createId, randomBytes, clock, gatewayUrl })
    const { clientId, clientSecret, revoked, owner, ownerLink } = made
    return [
      'Admin credential, shown this once:',
      `  client id      ${clientId}`,
      `  client secret  ${clientSecret}`,
      `Link with which the user ${owner} sets a password, until ${ownerLink.expiresAt}, once:`,
      `  ${ownerLink.url}`,
      `Revoked: ${revoked.length === 0 ? 'none' : revoked.join(', ')}`,
      '',
    ].join('\n')
  } finally {
    registry.close()
  }
}

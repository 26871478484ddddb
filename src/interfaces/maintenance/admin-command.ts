/**
 * `tollgate admin reset`: replaces a lost admin secret and makes a link for an owner, directly in the registry: in the data folder of a
 * service that is stopped, or in PostgreSQL (`DATABASE_URL`), while nodes run or not.
 *
 * Holds the folder's lock while it works, so it is refused while a service runs on it. Nodes learn from the change feed that credentials
 * were revoked; the command says which of them have. Exit codes: 0 done, 2 refused.
 */

import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { resetAdmin, type AdminReset } from '../../control/access/admin-replacement.ts'
import { readServiceAddress, type ServiceAddress } from '../../control/access/service-address.ts'
import { parseCommand, runCommand } from './folder-command.ts'
import { systemClock as clock } from '../../foundation/runtime/clock.ts'
import { createIdFactory } from '../../foundation/runtime/ids.ts'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'
import { publicAddress } from '../../foundation/settings/setting-values.ts'
import { createVault, loadMasterKey } from '../../foundation/runtime/vault.ts'
import type { Postgres } from '../../storage/store/postgres/open-postgres.ts'
import { RevisionConflict, type Registry } from '../../storage/store/registry.ts'
import { lockDataFolder } from '../../storage/store/sqlite/data-folder.ts'
import { refuseMoved } from '../../storage/store/sqlite/moved-registry.ts'
import { openSqliteRegistry } from '../../storage/store/sqlite/registry.ts'
import { StoreUnwritable } from '../../storage/store/unwritable.ts'

const OPTIONS = { 'data-dir': { type: 'string' }, help: { type: 'boolean' } } as const
const HELP = `tollgate admin reset [--data-dir DIR]

Creates a new admin credential, prints it once, and revokes the earlier ones. Also prints a one-time link with which
an owner sets a password; a tenant without an owner gets one.
Without DATABASE_URL: stop the service first. DIR is its DATA_DIR (default: $DATA_DIR, else ./data). If the service
runs with MASTER_KEY, set it here too.
With DATABASE_URL: nodes may run; the command ends when every live node has applied the change. MASTER_KEY is required.
The link begins with the address at which the service was last started; GATEWAY_URL replaces it.
`
/** A running node may change a credential or an owner meanwhile. */
const ATTEMPTS_MAX = 5

await runCommand(run)

async function run(args: string[]): Promise<string> {
  const { values, positionals } = parseCommand(args, OPTIONS, HELP)
  if (values.help === true) return HELP
  if (positionals.join(' ') !== 'reset') throw new StartRefused(`the only admin command is reset\n\n${HELP}`)
  const url = process.env['DATABASE_URL'] || null
  const masterKey = process.env['MASTER_KEY'] || null
  const given = values['data-dir']
  if (url === null) return resetInFolder(resolve(given ?? (process.env['DATA_DIR'] || './data')), masterKey)
  if (given !== undefined) {
    throw new StartRefused('--data-dir and DATABASE_URL name two registries; leave one of them out')
  }
  if (masterKey === null) throw new StartRefused('set MASTER_KEY to the key of the nodes')
  return resetInDatabase(url, masterKey)
}

async function resetInFolder(folder: string, masterKey: string | null): Promise<string> {
  if (!existsSync(join(folder, 'registry.db'))) {
    throw new StartRefused(`${folder} is not a data folder of tollgate; --data-dir names it`)
  }
  if (masterKey === null && !existsSync(join(folder, 'master.key'))) {
    throw new StartRefused(`${folder} has no master.key; set MASTER_KEY to the key of the service`)
  }
  refuseMoved(folder)
  const unlock = lockDataFolder(folder)
  try {
    const key = loadMasterKey({ dataDir: folder, masterKey })
    const registry = openSqliteRegistry({ path: join(folder, 'registry.db'), clock })
    try {
      return describe(await reset(registry, key))
    } finally {
      registry.close()
    }
  } finally {
    unlock()
  }
}

async function resetInDatabase(url: string, masterKey: string): Promise<string> {
  const key = loadMasterKey({ dataDir: '', masterKey })
  const { openPostgres } = await import('../../storage/store/postgres/open-postgres.ts')
  const postgres = await openPostgres({
    url,
    nodeName: 'admin reset',
    clock,
    isCommand: true,
    onFailed: () => {},
    onRewound: () => {},
    onReplaced: () => {},
  })
  try {
    const made = await reset(postgres.registry, key)
    return describe(made) + describePending(await pendingNodes(postgres))
  } catch (cause) {
    if (!(cause instanceof StoreUnwritable)) throw cause
    throw new StartRefused(`the reset may not be stored: ${cause.because}; run the command again`, { cause })
  } finally {
    await postgres.close()
  }
}

interface Reset extends AdminReset {
  /** Null: no start has noted its addresses. */
  readonly last: ServiceAddress | null
}

async function reset(registry: Registry, masterKey: Buffer): Promise<Reset> {
  const vault = createVault(masterKey)
  const createId = createIdFactory(clock.nowMs)
  const last = await readServiceAddress(registry)
  const gatewayUrl = readGatewayUrl() ?? last?.gatewayUrl ?? 'http://127.0.0.1:8080'
  for (let attempt = 1; ; attempt++) {
    try {
      const made = await resetAdmin({ registry, vault, createId, randomBytes, clock, gatewayUrl })
      return { ...made, last }
    } catch (cause) {
      if (!(cause instanceof RevisionConflict)) throw cause
      if (attempt === ATTEMPTS_MAX)
        throw new StartRefused('running nodes keep changing the credentials; repeat', { cause })
    }
  }
}

/** Returns null if the variable is not set. Throws `StartRefused`. */
function readGatewayUrl(): string | null {
  const { GATEWAY_URL: text = '' } = process.env
  if (text === '') return null
  const read = publicAddress(text)
  // Not repeated: it may have a password.
  if ('takes' in read) throw new StartRefused(`GATEWAY_URL takes ${read.takes}`)
  return read.value
}

function describe({ clientId, clientSecret, revoked, owner, ownerLink, last }: Reset): string {
  return [
    'Admin credential, shown this once:',
    `  client id      ${clientId}`,
    `  client secret  ${clientSecret}`,
    `Link with which the user ${owner} sets a password, until ${ownerLink.expiresAt}, once:`,
    `  ${ownerLink.url}`,
    ...(last === null ? [] : [`Last started at: ${last.baseUrl} (platform), ${last.gatewayUrl} (gateway)`]),
    `Revoked: ${revoked.length === 0 ? 'none' : revoked.join(', ')}`,
    '',
  ].join('\n')
}

async function pendingNodes({ registry, nodes }: Postgres): Promise<readonly string[] | null> {
  try {
    return await nodes.acknowledged(await registry.end())
  } catch (cause) {
    if (!(cause instanceof StoreUnwritable)) throw cause
    return null
  }
}

/** `pending`: names of the nodes that have not applied the reset; null if the list cannot be read. */
function describePending(pending: readonly string[] | null): string {
  if (pending?.length === 0) return 'Every node in the list refuses the revoked credentials.\n'
  const names = pending === null ? 'unknown, because PostgreSQL does not answer' : pending.join(', ')
  return `Nodes that may still accept the revoked credentials: ${names}\n`
}

/**
 * `tollgate migrate`: copies the registry of a service that is stopped to PostgreSQL, for several nodes.
 *
 * Holds the folder's lock while it works, so it is refused while the service runs. Removes nothing from the folder. Exit codes: 0
 * done, 2 refused.
 */

import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseCommand, runCommand } from './folder-command.ts'
import { describeUsage, migrateUsage } from './migrate-usage.ts'
import { readRequestLog, readStoreSettings } from './store-settings.ts'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'
import { withoutCredentials } from '../../storage/store/clickhouse/client.ts'
import {
  copyRegistry,
  describeDatabase,
  RegistryDiffers,
  type CopiedRegistry,
} from '../../storage/store/postgres/copy-registry.ts'
import { lockDataFolder } from '../../storage/store/sqlite/data-folder.ts'
import { hasMovedTo, markMoved } from '../../storage/store/sqlite/moved-registry.ts'
import { openRegistryRows } from '../../storage/store/sqlite/registry-rows.ts'

const OPTIONS = {
  from: { type: 'string' },
  to: { type: 'string' },
  usage: { type: 'boolean' },
  help: { type: 'boolean' },
} as const
const HELP = `tollgate migrate [--from DIR] [--to URL] [--usage]

Copies the registry in DIR to PostgreSQL, for several nodes: documents, their keys, the change feed and the audit log. Stop the
service first. DIR is the service's DATA_DIR (default: $DATA_DIR, else ./data). URL is that of an empty database
(default: $DATABASE_URL; prefer it, because other users of this machine can read a password in --to).
The copy is one transaction and is compared with the original before its end: after a failure, run the command again.
With --usage, the usage of DIR moves to CLICKHOUSE_URL first (with CLICKHOUSE_CLUSTER, if the nodes set it): line items, hourly
totals, statements, service levels, the request log and risk events; calls of the spool are stored in DIR before. A month is compared
when it has moved, and moves once, also if the command is killed and repeated.
Removes nothing from DIR. Without --usage, usage stays where it is.
`

await runCommand(run)

async function run(args: string[]): Promise<string> {
  const { values, positionals } = parseCommand(args, OPTIONS, HELP)
  if (values.help === true) return HELP
  if (positionals.length > 0) throw new StartRefused(`migrate does not take an argument without a name\n\n${HELP}`)
  const folder = resolve(values.from ?? (process.env['DATA_DIR'] || './data'))
  const url = toUrl(values.to ?? process.env['DATABASE_URL'] ?? '')
  if (!existsSync(join(folder, 'registry.db'))) {
    throw new StartRefused(`${folder} is not a data folder of tollgate with a registry; --from names it`)
  }
  const unlock = lockDataFolder(folder)
  try {
    return await migrate(folder, url, values.usage === true)
  } finally {
    unlock()
  }
}

function toUrl(text: string): string {
  if (text === '') throw new StartRefused(`migrate needs the variable DATABASE_URL, or --to\n\n${HELP}`)
  // Never repeated: it may have a password.
  if (/^postgres(?:ql)?:\/\//.test(text) && URL.canParse(text)) return text
  throw new StartRefused('DATABASE_URL is not a URL of PostgreSQL: postgres://user:password@host:5432/database')
}

/** Usage moves first: nodes start only when there is a registry, and find all of it. */
async function migrate(folder: string, url: string, withUsage: boolean): Promise<string> {
  const usage = withUsage ? await moveUsageOf(folder, url) : []
  const rows = openRegistryRows(join(folder, 'registry.db'))
  const hadMoved = hasMovedTo(folder, describeDatabase(url))
  try {
    const mark = (): string => markMoved(folder, describeDatabase(url))
    // Marked before the commit, so that no start can use the old registry once there is a new one.
    const copied = await copyRegistry(url, rows, mark)
    return lines([...usage, ...describe({ folder, url, copied, marker: mark(), end: rows.end, withUsage })])
  } catch (cause) {
    if (!withUsage || !hadMoved || !(cause instanceof RegistryDiffers)) throw cause
    return lines([
      ...usage,
      `The registry has moved to PostgreSQL before (${describeDatabase(url)}), and was not compared.`,
    ])
  } finally {
    rows.close()
  }
}

async function moveUsageOf(folder: string, url: string): Promise<readonly string[]> {
  const store = readStoreSettings()
  const rows = openRegistryRows(join(folder, 'registry.db'))
  const registryEnd = rows.end
  rows.close()
  const requestLog = readRequestLog()
  const moved = await migrateUsage({ folder, store, databaseUrl: url, requestLog, registryEnd })
  return describeUsage(moved, withoutCredentials(store.clickhouseUrl ?? ''))
}

function lines(text: readonly string[]): string {
  return `${text.join('\n')}\n`
}

interface Migrated {
  readonly folder: string
  readonly url: string
  readonly copied: CopiedRegistry
  readonly marker: string
  readonly end: number
  readonly withUsage: boolean
}

function describe({ folder, url, copied, marker, end, withUsage }: Migrated): readonly string[] {
  const where = describeDatabase(url)
  const rows = [...copied.tables].map(
    ([name, { rows: count, revisions, digest }]) =>
      `  ${name.padEnd(13)} ${count} rows${revisions > 0 ? `, revisions add up to ${revisions}` : ''}, digest ${digest.slice(0, 16)}`,
  )
  const key = join(folder, 'master.key')
  return [
    copied.wasThere
      ? `The registry of ${folder} is in PostgreSQL already (${where}), and equal:`
      : `Copied the registry of ${folder} to PostgreSQL (${where}), and compared it:`,
    ...rows,
    `  position      ${end}`,
    'Next:',
    '  1. Set DATABASE_URL, REDIS_URL, CLICKHOUSE_URL, GATEWAY_URL and BASE_URL, the same for all nodes.',
    existsSync(key)
      ? `  2. Set MASTER_KEY of all nodes to the content of ${key}: export MASTER_KEY="$(cat '${key.replaceAll("'", String.raw`'\''`)}')"`
      : '  2. Set MASTER_KEY of all nodes to that of the service until now.',
    `  3. Give each node an empty DATA_DIR of its own. A service that used CLICKHOUSE_URL keeps ${folder} for one node.`,
    withUsage
      ? `  Nothing is removed from ${join(folder, 'clickhouse')}. Keep the folder until the first bill is right.`
      : `  Usage is not moved: a store in ${join(folder, 'clickhouse')} and its line items stay there. Keep the folder, or add --usage.`,
    `  registry.db must not be used again: without DATABASE_URL, a start on ${folder} is refused.`,
    `  To go back, and lose all changes since: stop all nodes and remove ${marker}`,
  ]
}

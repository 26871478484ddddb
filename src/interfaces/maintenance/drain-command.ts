/**
 * `tollgate drain`: stores the calls that a dead node left in its spool, from any machine that has its data folder.
 *
 * Holds the lock of the folder and the incarnation of the node in PostgreSQL while it works, so that it excludes the node, a copy of
 * its folder and a second drain. Exit codes: 0 done, 2 refused.
 */

import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import type { RequestLogMode } from '../../pipeline/metering/request-log.ts'
import { readIds, type NodeIds } from '../../storage/nodes/incarnation.ts'
import { agree } from '../../storage/recovery/agree.ts'
import { inspectFolder, type DataFolder } from '../../storage/recovery/folder-parts.ts'
import { openStore } from '../../storage/recovery/open-store.ts'
import { systemClock as clock } from '../../foundation/runtime/clock.ts'
import { createLog } from '../../foundation/runtime/log.ts'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'
import { readVersion } from '../../foundation/runtime/version.ts'
import { FORMAT } from '../../storage/store/nodes.ts'
import { openPostgres, type Postgres } from '../../storage/store/postgres/open-postgres.ts'
import { lockStart } from '../../storage/store/postgres/start-lock.ts'
import { openSqliteCheckpoint } from '../../storage/store/sqlite/checkpoint.ts'
import { LAST_GOOD_FILE, removeCopy } from '../../storage/store/sqlite/registry-copy.ts'
import { lockDataFolder } from '../../storage/store/sqlite/data-folder.ts'
import { drainSpool, type Drained } from './drain-spool.ts'
import { EXIT_REFUSED, parseCommand, runCommand } from './folder-command.ts'
import { readRequestLog, readStoreSettings, type StoreSettings } from './store-settings.ts'

const OPTIONS = { 'data-dir': { type: 'string' }, help: { type: 'boolean' } } as const
const HELP = `tollgate drain --data-dir DIR

Stores the calls that a dead node left in DIR, its DATA_DIR or the newest copy of it, and takes the node from the list.
Stop the node first: a node that lives is refused, but one that is only cut off from PostgreSQL looks dead. Needs the settings
DATABASE_URL, CLICKHOUSE_URL and MASTER_KEY of the nodes, and REQUEST_LOG if they set it. Removes nothing from DIR, and returns no
limits: they are free at the end of their window. After a failure, run the command again.
`
const SERVE_EVERY_MS = 250

await runCommand(run)

interface Settings {
  readonly dataDir: string
  readonly url: string
  readonly store: StoreSettings
  readonly requestLog: RequestLogMode
}

async function run(args: string[]): Promise<string> {
  const { values, positionals } = parseCommand(args, OPTIONS, HELP)
  if (values.help === true) return HELP
  if (positionals.length > 0) throw new StartRefused(`drain does not take an argument without a name\n\n${HELP}`)
  const settings = readSettings(values['data-dir'])
  const { dataDir } = settings
  if (!existsSync(join(dataDir, 'node.id'))) {
    throw new StartRefused(
      `${dataDir} is not the data folder of a node: it has no node.id; --data-dir names the folder`,
    )
  }
  const unlock = lockDataFolder(dataDir)
  try {
    const folder = inspectFolder({ dataDir, hasMasterKey: true, isEmbedded: false, isRegistryShared: true })
    return await drainAs(settings, folder)
  } finally {
    unlock()
  }
}

function readSettings(folder: string | undefined): Settings {
  const { DATABASE_URL: url = '', CLICKHOUSE_URL: clickhouseUrl = '', MASTER_KEY: key = '' } = process.env
  const { DATA_DIR: own = '' } = process.env
  const missing = Object.entries({ DATABASE_URL: url, CLICKHOUSE_URL: clickhouseUrl, MASTER_KEY: key })
  const names = missing.filter(([, value]) => value === '').map(([name]) => name)
  if (names.length > 0) throw new StartRefused(`drain needs the settings of the nodes: ${names.join(', ')} is not set`)
  const requestLog = readRequestLog()
  // Neither is repeated: they may have a password.
  if (!/^postgres(?:ql)?:\/\//.test(url) || !URL.canParse(url))
    throw new StartRefused('DATABASE_URL is not a URL of PostgreSQL')
  if (folder === undefined && own === '')
    throw new StartRefused(`--data-dir names the folder of the dead node\n\n${HELP}`)
  return { dataDir: resolve(folder ?? own), url, store: readStoreSettings(), requestLog }
}

/** Takes the place of the node in the list while it works. */
async function drainAs(settings: Settings, folder: DataFolder): Promise<string> {
  const { dataDir, url } = settings
  const ids = readIds(dataDir)
  if (ids === null) throw new StartRefused(`${dataDir} has no node.id any more`)
  const end = (sentence: string): void => {
    process.stderr.write(`tollgate: ${sentence}\n`)
    process.exit(EXIT_REFUSED)
  }
  const postgres = await openPostgres({
    url,
    nodeName: hostname(),
    clock,
    onFailed: () => {},
    onRewound: () => end('PostgreSQL lacks changes that it had: run the command again'),
    onOutdated: () => end('the nodes write a format that only a later version of tollgate reads: use that version'),
    onReplaced: () => end('the node has started meanwhile; nothing is lost'),
  })
  try {
    const name = await register(postgres, ids)
    const drained = await withPosition(postgres, () => drain(settings, folder, postgres))
    // The node is no longer in the list, so that it must not serve from the copy.
    await postgres.nodes.leave(() => removeCopy(join(dataDir, LAST_GOOD_FILE)))
    return describe(settings, name, drained)
  } finally {
    await postgres.close()
  }
}

/** Returns the name of the node. Throws `StartRefused` if a process holds the incarnation. */
async function register({ nodes }: Postgres, { incarnation, lineage }: NodeIds): Promise<string> {
  const listed = await nodes.list()
  const own = listed.find((node) => node.incarnation === incarnation)
  if (own?.isLive === true)
    throw new StartRefused(`the node ${own.name} lives; stop it, and drain its folder afterwards`)
  const isNameTaken = listed.some(({ name, isLive }) => isLive && name === own?.name)
  const name = own === undefined || isNameTaken ? `drained-${incarnation.slice(0, 8)}` : own.name
  await nodes.register({ incarnation, lineage, name, version: readVersion(), format: FORMAT, settings: {} })
  return name
}

/** Commands do not wait for a node that serves no calls: it reports each position at once. */
async function withPosition<T>({ nodes, registry }: Postgres, work: () => Promise<T>): Promise<T> {
  const serve = (): void => void registry.end().then(nodes.serve.bind(nodes), () => {})
  serve()
  const cancel = clock.every(SERVE_EVERY_MS, serve)
  try {
    return await work()
  } finally {
    cancel()
  }
}

async function drain(settings: Settings, folder: DataFolder, { registry }: Postgres): Promise<Drained> {
  const { dataDir, url, store, requestLog } = settings
  const log = createLog('warn')
  const endStart = await lockStart({ url, nodeName: hostname() })
  const { client, isNew } = await openStore({ dataDir, ...store }).finally(endStart)
  const newInstance = (): string => {
    throw new StartRefused(`${dataDir} has no checkpoint.db: the node has not served a call`)
  }
  try {
    const checkpoint = openSqliteCheckpoint({ path: join(dataDir, 'checkpoint.db'), newInstance })
    try {
      await agree({
        dataDir,
        spoolFolder: join(dataDir, 'spool'),
        folder,
        client,
        isNewStore: isNew,
        checkpoint,
        registryEnd: await registry.end(),
        shared: { wentBack: false },
        nowMs: clock.nowMs(),
        log,
        count: () => {},
      })
      return await drainSpool({ dataDir, client, checkpoint, requestLog, registryEnd: registry.end, clock, log })
    } finally {
      checkpoint.close()
    }
  } finally {
    await client.close()
  }
}

function describe({ dataDir }: Settings, name: string, { calls, finished, damages }: Drained): string {
  const lines = [
    finished === null ? null : `Completed flush ${finished}, which the node had begun.`,
    calls === 0
      ? `The spool in ${dataDir} holds no other call that is not stored.`
      : `Stored ${calls} calls of ${dataDir}.`,
    damages === 0
      ? null
      : `${damages} places of the spool are damaged: \`tollgate spool inspect ${dataDir}\` shows them.`,
    `The node ${name} is not in the list any more.`,
  ]
  return `${lines.filter((line) => line !== null).join('\n')}\n`
}

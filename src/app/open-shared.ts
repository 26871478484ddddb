/**
 * Opens what several nodes share in PostgreSQL, and joins them: a node registers first, and reads afterwards.
 *
 * A node that cannot reach PostgreSQL serves calls from its copy of the registry, and joins the others later. It reads what has changed
 * since its copy then, as if its start had taken that long.
 */

import type { Config } from './config.ts'
import { claimFolder, noteFormer } from './claim-folder.ts'
import { createClockWatch } from '../storage/nodes/clock-watch.ts'
import { compareAtStart } from '../storage/nodes/compare-settings.ts'
import { joinLater } from '../storage/nodes/join-later.ts'
import type { CopyKeeper } from '../storage/nodes/keep-copy.ts'
import { createStalenessWatch, type StalenessWatch } from '../storage/nodes/staleness-watch.ts'
import type { CountEvent } from '../foundation/runtime/event-reasons.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { Opened } from '../foundation/runtime/lifecycle.ts'
import type { Log } from '../foundation/runtime/log.ts'
import { StartRefused } from '../foundation/runtime/start-refused.ts'
import type { Vault } from '../foundation/runtime/vault.ts'
import type { Addresses } from './settings/addresses.ts'
import { readVersion } from '../foundation/runtime/version.ts'
import { hashSharedSettings } from './settings/shared-settings.ts'
import { FORMAT, type NodeIdentity } from '../storage/store/nodes.ts'
import type { RegistryCopy } from '../storage/store/registry-copy.ts'
import type { LatePostgres } from '../storage/store/postgres/join-postgres.ts'
import type { Postgres, PostgresOptions } from '../storage/store/postgres/open-postgres.ts'
import { keepLastGood, openCopyToKeep, openLastGood, type KeptParts, type LastGoodOptions } from './open-last-good.ts'

export interface Shared extends Omit<Postgres, 'close'> {
  /** Names this node in claims. */
  readonly incarnation: string
  /** Position of the registry before anything of it was read. */
  readonly readFrom: number
  /** At the start, the registry lacked changes that are in the copy of this node. */
  readonly wentBack: boolean
  /** Null: the node serves calls without the registry, however long. */
  readonly freshness: StalenessWatch | null
  /** False while the node serves from its copy of the registry, because PostgreSQL could not be reached at its start. */
  readonly isJoined: () => boolean
  readonly copy: Pick<RegistryCopy, 'notes' | 'note' | 'reads'>
  /**
   * Keeps the copy up to date, once the node has joined. `effective` are the kinds of documents whose changes the node acknowledges once
   * they are in effect. To be called before it acknowledges any.
   */
  readonly keepCopy: (effective: ReadonlySet<string>) => void
  /** Writes the copy from now on. */
  readonly beginCopy: () => void
  /** Number of changes that the copy lacks; null while it is not kept. */
  readonly copyLag: () => number | null
  /** Ends what only a start needs: lets the next node start. */
  readonly endStart: () => Promise<void>
  /** Ends the process at once; the sentence says why, and what to do. */
  readonly end: (sentence: string) => void
}

export interface SharedOptions {
  readonly config: Config
  readonly addresses: Addresses
  readonly vault: Pick<Vault, 'keyedHash'>
  readonly clock: Clock
  readonly log: Log
  readonly count: CountEvent
  readonly opened: Opened
}

type End = (sentence: string) => void

interface Keeping extends Omit<KeptParts, 'effective'> {
  readonly options: SharedOptions
  readonly readFrom: number
  readonly isJoined: () => boolean
}

interface Node {
  readonly options: SharedOptions
  readonly identity: NodeIdentity
  readonly freshness: StalenessWatch | null
  readonly postgresOptions: PostgresOptions
  readonly lastGood: LastGoodOptions
  readonly end: End
}

const REPLACED =
  'PostgreSQL lacks changes that this node has applied: it was restored, or a standby took over; start this node again, and revoke again what was revoked meanwhile'

/** Throws `StartRefused`. `end` ends the process at once. */
export async function openShared(options: SharedOptions, end: End): Promise<Shared> {
  const node = describeNode(options, end)
  // A single node starts sooner without these.
  const { openPostgres } = await import('../storage/store/postgres/open-postgres.ts')
  const { DatabaseUnreachable } = await import('../storage/store/postgres/refuse-unusable.ts')
  try {
    return await join(node, await openPostgres(node.postgresOptions))
  } catch (cause) {
    if (!(cause instanceof DatabaseUnreachable)) throw cause
    return startApart(node, cause)
  }
}

function describeNode(options: SharedOptions, end: End): Node {
  const { config, addresses, vault, clock, log, count } = options
  const { databaseUrl: url, nodeName, dataDir, maxStalenessSeconds } = config
  if (url === null) throw new Error('a single node shares nothing')
  const { incarnation, lineage } = claimFolder(options)
  const maxStalenessMs = maxStalenessSeconds === null ? null : maxStalenessSeconds * 1_000
  const freshness = maxStalenessMs === null ? null : createStalenessWatch({ ...options, maxStalenessMs })
  const postgresOptions: PostgresOptions = {
    url,
    nodeName,
    clock,
    staleAfterMs: maxStalenessMs,
    ...(freshness !== null && { onFresh: freshness.onFresh }),
    onClockOffset: createClockWatch(options),
    onFailed(cause) {
      count('registry_connection_failed')
      log.error({ err: cause }, 'a connection to PostgreSQL failed and is opened again; calls are served meanwhile')
    },
    onRewound: () => end(REPLACED),
    onUnreadableSignal: () => count('risk_signal_unreadable'),
    onOutdated: () =>
      end('the other nodes write a format that only a later version of tollgate reads; start that version'),
    onReplaced: () => end(`another process runs with a copy of DATA_DIR ${dataDir}`),
  }
  const settings = hashSharedSettings(config, addresses, vault.keyedHash)
  const identity = { incarnation, lineage, name: nodeName, version: readVersion(), format: FORMAT, settings }
  return { options, identity, freshness, postgresOptions, lastGood: { ...options, lineage }, end }
}

/** Joins the other nodes at the start. */
async function join(node: Node, postgres: Postgres) {
  const { options, identity, freshness, postgresOptions, lastGood } = node
  const { opened } = options
  opened('PostgreSQL', postgres.close)
  const { lockStart } = await import('../storage/store/postgres/start-lock.ts')
  const endStart = await lockStart(postgresOptions)
  opened('start', endStart)
  const { registry, nodes, snapshots } = postgres
  const copy = openCopyToKeep(lastGood)
  opened('last good configuration', () => copy.close())
  const wentBack = copy.mark !== null && !(await snapshots.has(copy.mark))
  await compareAtStart({ ...options, ...identity, nodes, mayDiffer: options.config.addressesMayDiffer })
  await nodes.register(identity)
  noteListed(copy, postgres, opened)
  await noteFormer(options, lastGood.lineage, nodes)
  const readFrom = await registry.end()
  const { incarnation } = identity
  const isJoined = (): boolean => true
  const { keepCopy, beginCopy, copyLag } = createKeeping({ ...postgres, copy, options, readFrom, isJoined })
  return {
    ...postgres,
    incarnation,
    freshness,
    readFrom,
    wentBack,
    copy,
    keepCopy,
    beginCopy,
    copyLag,
    isJoined,
    endStart,
    end: node.end,
  }
}

/** Serves calls from the copy until the node can join. */
async function startApart(node: Node, away: StartRefused): Promise<Shared> {
  const { options, identity, freshness, postgresOptions, lastGood } = node
  const { opened, log, count } = options
  const { copy, mark } = openLastGood(lastGood, away)
  opened('last good configuration', () => copy.close())
  const { openPostgresLater } = await import('../storage/store/postgres/join-postgres.ts')
  const late = openPostgresLater(postgresOptions, { mark, reads: copy.reads })
  const { postgres, isJoined } = late
  opened('PostgreSQL', postgres.close)
  noteListed(copy, postgres, opened)
  count('last_good_served')
  log.error(
    { err: away },
    'PostgreSQL cannot be reached; calls are served from the last good configuration, and commands get 503 until this node can join',
  )
  const readFrom = mark.position
  const { start, keepCopy, beginCopy, copyLag } = createKeeping({ ...postgres, copy, options, readFrom, isJoined })
  const onJoined = (): void => {
    log.info('PostgreSQL answers; this node has joined the others and reads what has changed')
    noteFormer(options, lastGood.lineage, postgres.nodes).catch(postgresOptions.onFailed)
    start()
  }
  return {
    ...postgres,
    incarnation: identity.incarnation,
    freshness,
    readFrom,
    // Joining compares.
    wentBack: false,
    copy,
    keepCopy,
    beginCopy,
    copyLag,
    isJoined,
    // Not before all parts follow the registry.
    endStart: async () => opened('return to the other nodes', returnLater(node, late, onJoined)),
    end: node.end,
  }
}

function createKeeping({ options, readFrom, isJoined, ...parts }: Keeping) {
  let keeper: CopyKeeper | null = null
  let effective: ReadonlySet<string> | null = null
  let hasBegun = false
  const start = (): void => {
    if (effective === null || !isJoined()) return
    const started = keepLastGood({ ...parts, effective }, options, readFrom)
    keeper = started
    if (hasBegun) started.begin()
    options.opened('copy of the configuration', () => started.stop())
  }
  return {
    start,
    copyLag: () => keeper?.lag ?? null,
    beginCopy(): void {
      hasBegun = true
      keeper?.begin()
    },
    keepCopy(kinds: ReadonlySet<string>): void {
      effective = kinds
      start()
    },
  }
}

/** Attempts to join until it succeeds. Returns a function that ends the attempts. */
function returnLater(
  node: Node,
  { postgres, join: joinOnce }: LatePostgres,
  onJoined: () => void,
): () => Promise<void> {
  const { options, end } = node
  const { clock, log, count } = options
  return joinLater({
    clock,
    async join() {
      const { RegistryReplaced } = await import('../storage/store/postgres/join-postgres.ts')
      try {
        await joinOnce(() => registerOrEnd(node, postgres))
      } catch (cause) {
        if (cause instanceof RegistryReplaced) end(REPLACED)
        throw cause
      }
    },
    onJoined,
    onFailed(cause) {
      count('node_not_joined')
      log.error({ err: cause }, 'this node serves calls from the last good configuration and cannot join yet; retrying')
    },
  })
}

/** A refusal concerns the identity of this node: another process has it. */
async function registerOrEnd(node: Node, { nodes }: Postgres): Promise<void> {
  try {
    await nodes.register(node.identity)
  } catch (cause) {
    if (cause instanceof StartRefused) node.end(cause.message)
    throw cause
  }
}

/** The node is in the list until it leaves it, and only then may it start without PostgreSQL. */
function noteListed(copy: RegistryCopy, { nodes }: Postgres, opened: Opened): void {
  copy.note({ isListed: true })
  opened('list of nodes', () => nodes.leave(() => copy.note({ isListed: false })))
}

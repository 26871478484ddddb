/**
 * Accepts the loss of parts of a data folder, so that the service starts again, and records the losses in the audit log.
 *
 * The caller holds the folder's lock. Files are moved to `lost/`, never deleted. All other parts must be intact.
 */

import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { JOURNAL_NAMES } from '../../boundary/leases/lease-journal-file.ts'
import { LOSS_PARTS, type LossPart } from '../../foundation/runtime/accept-loss.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'
import { lastNotes, writeNote } from '../store/clickhouse/flush-notes.ts'
import type { ClickHouse } from '../store/clickhouse/client.ts'
import { openSqliteCheckpoint, type SqliteCheckpoint } from '../store/sqlite/checkpoint.ts'
import { openSqliteRegistry, type SqliteRegistry } from '../store/sqlite/registry.ts'
import type { Registry } from '../store/registry.ts'
import { positionsOf } from './agree.ts'
import { compare } from './compare.ts'
import { writeManifest } from './folder-manifest.ts'
import { inspectFolder } from './folder-parts.ts'
import { RECOVERY_KIND, type Loss } from './loss.ts'
import { openStore } from './open-store.ts'
import { adoptStore, openLostCheckpoint } from './recover-checkpoint.ts'
import { recoverRegistry } from './recover-registry.ts'
import { acceptRows, completeRows, openLostStore } from './recover-store.ts'
import { setAside } from './set-aside.ts'
import { adoptSegments } from './spool-copies.ts'
import { isSpoolEmptied, spoolHolds } from './spool-holdings.ts'
import { readStoreClaims } from './store-claims.ts'

export interface RecoverOptions {
  readonly dataDir: string
  readonly parts: ReadonlySet<LossPart>
  readonly hasMasterKey: boolean
  readonly clickhouseUrl: string | null
  /** Opens the registry of several nodes, whose loss cannot be accepted here; null: it is in the folder. */
  readonly openShared: (() => Promise<Registry>) | null
  /** Default: none. */
  readonly clickhouseCluster?: string | null
  readonly clock: Clock
  readonly newInstance: () => string
  readonly createId: (prefix: 'rcv') => string
  /** The operator's tenant, whose audit log receives the entries. */
  readonly tenantOf: (registry: Registry) => Promise<string>
}

/** Throws `StartRefused`. Returns what was lost, in the order of `LOSS_PARTS`. */
export async function recover(options: RecoverOptions): Promise<readonly Loss[]> {
  const { dataDir, parts, hasMasterKey, clickhouseUrl } = options
  const isEmbedded = clickhouseUrl === null
  const isRegistryShared = options.openShared !== null
  const folder = inspectFolder({ dataDir, hasMasterKey, isEmbedded, isRegistryShared, accepts: parts })
  if (folder.isEmpty) throw new StartRefused(`${dataDir} is not a data folder of tollgate; --data-dir names it`)
  const losses = new Map<LossPart, string>()
  const closing: (() => unknown)[] = []
  try {
    const { opened: registry, loss } = parts.has('registry')
      ? await recoverRegistry(options)
      : {
          opened: await openRegistry(options, parts.has('checkpoint') ? null : (folder.manifest?.instance ?? null)),
          loss: '',
        }
    closing.push(() => registry.close())
    if (parts.has('registry')) losses.set('registry', loss)
    const { client, isNew } = await (parts.has('store') ? openLostStore(options) : openStore(options))
    closing.push(() => client.close())
    // The folder may be an older copy as a whole: its journals lack what the node has admitted since.
    if (parts.has('checkpoint')) setAside(dataDir, JOURNAL_NAMES, options.clock.nowMs())
    const checkpoint = openCheckpoint(options, losses)
    closing.push(() => checkpoint.close())

    const registryEnd = await registry.end()
    await accept(options, {
      checkpoint,
      client,
      isNew,
      registryEnd,
      instance: folder.manifest?.instance ?? null,
      losses,
    })
    if (parts.has('checkpoint') && existsSync(join(dataDir, 'spool')))
      adoptSegments(join(dataDir, 'spool'), folder.manifest?.instance ?? null, checkpoint.instance)
    registry.claim?.(checkpoint.instance)
    registry.noteChanges?.(checkpoint.changes())
    writeManifest(dataDir, { instance: checkpoint.instance, isEmbedded, accepted: [...parts] })
    const found = LOSS_PARTS.flatMap((part) => (parts.has(part) ? [{ part, loss: losses.get(part) ?? '' }] : []))
    await note(options, registry, found)
    return found
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

async function openRegistry(
  { dataDir, openShared, clock }: RecoverOptions,
  instance: string | null,
): Promise<Registry & Partial<Pick<SqliteRegistry, 'claim' | 'noteChanges'>>> {
  if (openShared !== null) return openShared()
  return openSqliteRegistry({ path: join(dataDir, 'registry.db'), clock, instance })
}

function openCheckpoint(options: RecoverOptions, losses: Map<LossPart, string>): SqliteCheckpoint {
  if (!options.parts.has('checkpoint')) {
    return openSqliteCheckpoint({ path: join(options.dataDir, 'checkpoint.db'), newInstance: options.newInstance })
  }
  const { opened, loss } = openLostCheckpoint(options)
  losses.set('checkpoint', loss)
  return opened
}

interface Opened {
  readonly checkpoint: SqliteCheckpoint
  readonly client: ClickHouse
  readonly isNew: boolean
  readonly registryEnd: number
  readonly instance: string | null
  readonly losses: Map<LossPart, string>
}

/** Makes checkpoint, store and spool consistent, so that the next start accepts them. */
async function accept({ dataDir, parts, clock }: RecoverOptions, opened: Opened): Promise<void> {
  const { checkpoint, client, isNew, registryEnd, instance, losses } = opened
  const nowMs = clock.nowMs()
  const spoolFolder = join(dataDir, 'spool')
  const claims = checkpoint.claims()
  const store = await readStoreClaims(client, claims, { isNew, nowMs })
  const holds = spoolHolds(spoolFolder)
  const verdict = compare({ ...positionsOf(checkpoint), checkpoint: claims, store, holds, isKnown: true })
  if (parts.has('spool')) {
    const isGone = !existsSync(spoolFolder) || isSpoolEmptied(spoolFolder, claims.position)
    losses.set('spool', isGone ? 'calls in spool/ that were not billed yet are lost' : 'spool/ is intact')
    mkdirSync(spoolFolder, { recursive: true, mode: 0o700 })
  }
  if (parts.has('checkpoint')) {
    const adopted = await adoptStore(checkpoint, { client, store, instance, spoolFolder, registryEnd })
    losses.set('checkpoint', `${losses.get('checkpoint')}; ${adopted}`)
  }
  if (parts.has('store')) {
    const lost = verdict.kind === 'refused' && verdict.part === 'store' ? verdict.sentence : 'no row is missing'
    const completed = await completeRows(client, nowMs)
    losses.set('store', completed === '' ? lost : `${lost}; ${completed}`)
    const { flushes, position, pending } = checkpoint.claims()
    await acceptRows(client, checkpoint.claims(), { registryEnd, nowMs })
    checkpoint.repair({
      ...positionsOf(checkpoint),
      instance: checkpoint.instance,
      flushes,
      position,
      pending,
      isNoted: true,
      registryEnd,
    })
  }
  if (parts.has('registry')) await acceptRegistryEnd(opened, nowMs)
}

/** Lowers the registry position in checkpoint and store; otherwise the next start would report an older registry. */
async function acceptRegistryEnd({ checkpoint, client, registryEnd }: Opened, nowMs: number): Promise<void> {
  const { instance, flushes, position, pending, isNoted } = checkpoint.claims()
  checkpoint.repair({ ...positionsOf(checkpoint), instance, flushes, position, pending, isNoted, registryEnd })
  const last = (await lastNotes(client)).find((note) => note.instance === instance)
  if (last === undefined || last.registryEnd <= registryEnd) return
  await writeNote(client, { ...last, registryEnd, atMs: Math.max(nowMs, last.atMs + 1) })
}

async function note(
  { createId, tenantOf }: RecoverOptions,
  registry: Registry,
  losses: readonly Loss[],
): Promise<void> {
  const tenant = await tenantOf(registry)
  const writes = losses.map((body) => ({ kind: RECOVERY_KIND, id: createId('rcv'), tenant, expected: 0, body }))
  await registry.commit({ tenant, consumer: 'system' }, 'folder.recover', writes)
}

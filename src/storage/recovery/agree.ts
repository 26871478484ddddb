/**
 * Makes checkpoint, store, spool and registry consistent before the service processes records, or refuses the start.
 *
 * Makes and logs a repair if its result is certain. Refuses every other inconsistency with the command that accepts the loss.
 */

import { discardJournals } from '../../boundary/leases/lease-journal-file.ts'
import type { OnDamage } from '../spool/damage.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import { acceptLossCommand, type LossPart } from '../../foundation/runtime/accept-loss.ts'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'
import type { ClickHouse } from '../store/clickhouse/client.ts'
import type { CheckpointClaims } from '../store/checkpoint.ts'
import type { SqliteCheckpoint } from '../store/sqlite/checkpoint.ts'
import { compare } from './compare.ts'
import type { DataFolder } from './folder-parts.ts'
import { reasonOf } from './open-store.ts'
import { refuseSpoolCopies } from './spool-copies.ts'
import { isSpoolEmptied, spoolHolds } from './spool-holdings.ts'
import { readStoreClaims, type StoreClaims } from './store-claims.ts'

export interface AgreeOptions {
  readonly dataDir: string
  readonly spoolFolder: string
  readonly folder: Pick<DataFolder, 'isEmpty' | 'manifest' | 'isAccepted'>
  readonly client: ClickHouse
  /** True if the store had no tables before this start. */
  readonly isNewStore: boolean
  readonly checkpoint: SqliteCheckpoint
  readonly registryEnd: number
  /** Number of changes of the checkpoint that the registry knows. Default: none. */
  readonly notedChanges?: number
  /**
   * The registry is in PostgreSQL: a restore or a failover there is reported and not refused, because it concerns all nodes.
   * `wentBack`: it lacks changes that this node had received, however many it has got since. Null: a single node.
   */
  readonly shared: { readonly wentBack: boolean } | null
  readonly nowMs: number
  readonly log: Log
  readonly count: CountEvent
  readonly onDamage?: OnDamage
}

/** Throws `StartRefused`. */
export async function agree(options: AgreeOptions): Promise<void> {
  const { dataDir, spoolFolder, folder, shared, checkpoint, notedChanges = 0, log, count, onDamage } = options
  const refuse = (part: LossPart, sentence: string): never => {
    throw new StartRefused(`${sentence} (${dataDir}); put back its newest copy, or ${acceptLossCommand(part, dataDir)}`)
  }
  const claims = checkpoint.claims()
  const wentBackBy = Math.max(claims.wentBackBy, notedChanges - checkpoint.changes())
  const { manifest } = folder
  if (manifest !== null && manifest.instance !== claims.instance) {
    refuse('checkpoint', 'checkpoint.db belongs to another data folder')
  }
  refuseSpoolCopies(spoolFolder, [claims.instance, ...(manifest === null ? [] : [manifest.instance])])
  if (isSpoolEmptied(spoolFolder, claims.position) && !folder.isAccepted('spool')) {
    refuse(
      'spool',
      'spool/ is empty, but checkpoint.db refers to segments in it: calls that were not billed yet are missing',
    )
  }
  const { isNewStore: isNew, nowMs } = options
  const store = await readStoreClaims(options.client, claims, { isNew, nowMs }).catch((cause: unknown) =>
    refuse('store', `the store cannot be read: ${reasonOf(cause)}`),
  )
  const lost = registryLoss(claims, store, options.registryEnd)
  if (lost > 0 && shared === null) refuse('registry', `registry.db lacks its last ${lost} changes: it is an older copy`)
  if (lost > 0 || shared?.wentBack === true) reportRewind(options, lost)
  const verdict = compare({
    ...positionsOf(checkpoint),
    checkpoint: claims,
    store,
    holds: spoolHolds(spoolFolder),
    isKnown: folder.isEmpty || manifest?.instance === claims.instance,
  })
  if (verdict.kind === 'refused') return refuse(verdict.part, verdict.sentence)
  const isOlderCopy = wentBackBy > 0 || (verdict.kind === 'repaired' && verdict.behind === 'checkpoint')
  // Before the repair, after which nothing shows any more that the folder may be an older copy.
  if (isOlderCopy) discardOlderJournals(options)
  if (verdict.kind === 'repaired') {
    checkpoint.repair(verdict.repair)
    count('checkpoint_repaired')
    log.error({ file: 'checkpoint.db', count: wentBackBy }, verdict.sentence)
    return
  }
  if (wentBackBy <= 0) return
  count('checkpoint_went_back')
  log.error(
    { file: 'checkpoint.db', count: wentBackBy },
    'checkpoint.db is an older copy; open risks and limit counters may lack what happened since the copy was made',
  )
  // Nothing proves that the store and the spool are newer.
  const what = 'checkpoint.db is an older copy, and the store, the spool and the registry may be as old.'
  onDamage?.({ file: 'checkpoint.db', what, records: 0, isExact: false, fromMs: null, toMs: null })
}

/** A folder that went back as a whole has older journals, which lack what the node has admitted since. */
function discardOlderJournals({ dataDir, log, count }: AgreeOptions): void {
  const discarded = discardJournals(dataDir)
  if (discarded.length === 0) return
  count('lease_journal_discarded')
  log.error(
    { files: discarded },
    'checkpoint.db is an older copy, and the journals of leases may be, too; this node takes new leases, and what it held before counts as used until the windows end',
  )
}

export function positionsOf(checkpoint: SqliteCheckpoint) {
  return {
    riskPosition: checkpoint.riskPosition(),
    limitPosition: checkpoint.limitPosition(),
    levelPosition: checkpoint.levelMark()?.position ?? null,
  }
}

function reportRewind({ log, count }: AgreeOptions, lost: number): void {
  count('registry_went_back')
  log.error(
    // More changes may have come since.
    lost > 0 ? { count: lost } : {},
    'PostgreSQL lacks the last changes that this node has served: it was restored, or a standby took over; what was revoked meanwhile may be valid again',
  )
}

/** Number of registry changes that checkpoint or store have recorded and the registry lacks. */
function registryLoss(claims: CheckpointClaims, { last }: StoreClaims, registryEnd: number): number {
  return Math.max(claims.registryEnd, last?.registryEnd ?? 0) - registryEnd
}

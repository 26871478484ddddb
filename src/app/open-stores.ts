/** Opens ClickHouse, embedded or as a server, and the stores in it. */

import type { CountEvent } from '../foundation/runtime/event-reasons.ts'
import type { Config } from './config.ts'
import type { RunJob } from './node-jobs.ts'
import { openUsage } from './open-usage.ts'
import { openStore } from '../storage/recovery/open-store.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { Opened } from '../foundation/runtime/lifecycle.ts'
import type { Log } from '../foundation/runtime/log.ts'
import type { ClickHouse } from '../storage/store/clickhouse/client.ts'
import { readKeptUsage } from '../storage/store/clickhouse/kept-usage.ts'
import { giveUpIfSilent } from '../storage/store/clickhouse/silent-server.ts'
import { DamagedParts } from '../storage/store/clickhouse/new-parts.ts'
import type { FollowedLog, RequestStore } from '../storage/store/request-store.ts'
import type { RiskStore } from '../storage/store/risk-store.ts'
import type { ServiceLevelStore } from '../storage/store/service-level-store.ts'
import type { StatementStore } from '../storage/store/statement-store.ts'
import type { UsageStore } from '../storage/store/usage-store.ts'

export interface Stores {
  readonly usage: UsageStore
  readonly statements: StatementStore
  readonly levels: ServiceLevelStore
  readonly requests: RequestStore & FollowedLog
  /** The service stops: a ClickHouse server that does not answer is given up from now on. */
  beginStop(): void
}

export interface OpenedStores extends Stores {
  readonly clickHouse: ClickHouse
  readonly isNewStore: boolean
  readonly riskStore: RiskStore
}

export interface StoresOptions {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly count: CountEvent
  readonly opened: Opened
  readonly runJob: RunJob
}

/** The store keeps the parts that it merged for eight minutes. */
const VERIFY_EVERY_MS = 60_000

export async function openStores(options: StoresOptions): Promise<OpenedStores> {
  const { config, clock, log, count, opened } = options
  const { client, isNew, remade } = await openStore(config)
  let endQuestions = (): void => {}
  opened('ClickHouse', () => {
    endQuestions()
    return client.close()
  })
  opened('verification of the store', verifyMerges(client, options))
  if (remade.length > 0) {
    count('store_view_remade')
    log.error(
      { definitions: remade },
      'views or rollups of the embedded store were missing or damaged and are recreated; no row is lost',
    )
  }
  const { connections, ...stores } = openUsage(client, { ...options, kept: await readKeptUsage(client) })
  return {
    clickHouse: client,
    isNewStore: isNew,
    ...stores,
    beginStop() {
      endQuestions = giveUpIfSilent([client, ...connections], clock)
    },
  }
}

/** Inserts verify their own parts; merges run in the background. Returns a function that stops the verification. */
function verifyMerges({ newParts }: ClickHouse, { clock, log, count }: StoresOptions): () => Promise<void> {
  let current = Promise.resolve()
  const cancel = clock.every(VERIFY_EVERY_MS, () => {
    current = newParts.verify().catch((err: unknown) => {
      if (err instanceof DamagedParts) {
        count('store_parts_repaired')
        log.error({ err }, 'files of the store were incomplete and are repaired; no row is lost')
      } else {
        count('store_verification_failed')
        log.error({ err }, 'new parts of the store could not be verified; retrying in a minute')
      }
    })
  })
  return () => {
    cancel()
    return current
  }
}

/**
 * Use of limits and quotas by subscription, aggregated from call records.
 *
 * The gateway threads count in shared memory, which is lost when the process ends. The ledger counts the same calls from the spool
 * and is saved together with its offset: after a crash, the saved counters and the records after the offset add up to exactly the
 * calls that were answered. It also stores the times at which a subscription exceeded its limits; refusals less than five minutes
 * apart are one breach.
 */

import { outcomeIndex } from '../foundation/domain/outcome.ts'
import { QUIET_MS } from '../foundation/domain/risk.ts'
import { FLAG_COUNTED } from '../storage/spool/call-record.ts'
import type { RecordBatch } from '../storage/spool/record-batch.ts'
import type { SavedCounter, SavedCounters } from '../storage/store/limit-checkpoint.ts'
import { LedgerAccounts, type Account, type LedgerAccountsOptions } from './ledger-accounts.ts'
import { createReplay } from './limit-replay.ts'

export interface LimitLedger {
  add(batch: RecordBatch): void
  /** Returns the counters that changed since the last `take`. */
  take(): readonly SavedCounters[]
  /** Number of subscriptions whose counters changed since the last `take`. */
  readonly changed: number
  /** Confirms that the counters of the last `take` are on disk. */
  saved(): void
  /** Discards what was not saved; the caller adds those records again. */
  reset(): void
  counters(subscription: string, api: string): readonly SavedCounter[]
  /** Returns the start times of the latest ten breaches within the last 30 days, oldest first. */
  breachesMs(subscription: string, api: string, nowMs: number): readonly number[]
}

export type LimitLedgerOptions = LedgerAccountsOptions

const BREACH_SPAN_MS = 30 * 86_400_000
const BREACHES_MAX = 10
/** Above this number all accounts are evicted after a save; each is read from the checkpoint at its next call. */
const ACCOUNTS_MAX = 100_000
const RATE_LIMITED = outcomeIndex.rate_limited
const QUOTA_EXHAUSTED = outcomeIndex.quota_exhausted

export function createLimitLedger(options: LimitLedgerOptions): LimitLedger {
  const replay = createReplay()
  const accounts = new LedgerAccounts(options)
  const changed = new Set<Account>()

  function add(batch: RecordBatch): void {
    accounts.refresh()
    const { count } = batch
    for (let index = 0; index < count; index++) {
      const outcome = batch.outcome(index)
      if ((batch.flags(index) & FLAG_COUNTED) !== 0) {
        const { account, sla, doubles } = accounts.targetOf(batch, index)
        if (sla === null || doubles === null) continue
        replay(sla, doubles, 0, batch.timeMs(index) - batch.admittedAgoMs(index), batch.unitsMicro(index))
        changed.add(account)
      } else if (outcome === RATE_LIMITED || outcome === QUOTA_EXHAUSTED) {
        const { account } = accounts.targetOf(batch, index)
        addRefusal(account, batch.timeMs(index))
        changed.add(account)
      }
    }
  }

  function reset(): void {
    accounts.clear()
    changed.clear()
  }

  return {
    add,
    take() {
      const changes = [...changed].map((account) => ({
        ...account,
        counters: accounts.counters(account.subscription, account.api),
      }))
      changed.clear()
      return changes
    },
    get changed() {
      return changed.size
    },
    saved() {
      if (accounts.size > ACCOUNTS_MAX && changed.size === 0) reset()
    },
    reset,
    counters: (subscription, api) => accounts.counters(subscription, api),
    breachesMs: (subscription, api, nowMs) =>
      accounts.breachesMs(subscription, api).filter((timeMs) => timeMs > nowMs - BREACH_SPAN_MS),
  }
}

function addRefusal(account: Account, timeMs: number): void {
  if (timeMs - account.refusedMs >= QUIET_MS) {
    account.breachesMs = [...account.breachesMs, timeMs].slice(-BREACHES_MAX)
  }
  account.refusedMs = Math.max(account.refusedMs, timeMs)
}

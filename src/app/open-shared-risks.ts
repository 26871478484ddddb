/** Composes the risks that several nodes share: signals of this node, partitions, the feed of events, and their history. */

import type { Config } from './config.ts'
import { openEventFollower, openLateEventFollower, type EventFollowerOptions } from '../pipeline/risk/event-follower.ts'
import { LiveRiskFeed } from '../pipeline/risk/live-risk-feed.ts'
import { createPartitionWorker } from '../pipeline/risk/partition-worker.ts'
import { createSharedHistory } from '../pipeline/risk/shared-history.ts'
import { createSharedRiskFeed, waitingEvents, type SharedRiskFeedOptions } from '../pipeline/risk/shared-risk-feed.ts'
import { createSignalSender } from '../pipeline/risk/signal-sender.ts'
import { isSame } from '../storage/spool/spool-position.ts'
import type { SpoolGauge } from '../storage/spool/spool-gauge.ts'
import type { SpoolReader } from '../storage/spool/spool-reader.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { CountEvent } from '../foundation/runtime/event-reasons.ts'
import type { Opened } from '../foundation/runtime/lifecycle.ts'
import type { Log } from '../foundation/runtime/log.ts'
import type { SpoolPosition } from '../storage/store/checkpoint.ts'
import type { RiskFeed, RiskStore } from '../storage/store/risk-store.ts'
import { matches, type SqliteCheckpoint } from '../storage/store/sqlite/checkpoint.ts'
import type { ServiceLevelStore } from '../storage/store/service-level-store.ts'
import { createSharedServiceLevels, type ListedPromises } from '../pipeline/stream/shared-service-levels.ts'
import type { RunJob } from './node-jobs.ts'
import type { Shared } from './open-shared.ts'

export interface SharedRisksOptions {
  readonly shared: Pick<Shared, 'risks' | 'incarnation' | 'isJoined'>
  readonly config: Pick<Config, 'riskRules' | 'retentionDays'>
  readonly checkpoint: SqliteCheckpoint
  readonly reader: SpoolReader
  readonly gauge: Pick<SpoolGauge, 'share'>
  readonly riskStore: RiskStore
  readonly levels: ServiceLevelStore
  readonly promises: ListedPromises
  readonly clock: Clock
  readonly log: Log
  readonly count: CountEvent
  readonly opened: Opened
  readonly runJob: RunJob
}

export interface SharedRiskServices {
  readonly feed: RiskFeed
  /** Returns the position before which the signals do not need the spool. `read`: what all others have read. */
  readonly held: (read: SpoolPosition) => SpoolPosition
  start(): Promise<void>
}

/** Share of the spool above which it is emptied, also of calls whose risks other nodes do not know. */
const PRESSED_SHARE = 0.5

export async function openSharedRisks(options: SharedRisksOptions): Promise<SharedRiskServices> {
  const { shared, config, clock, log, count, opened, runJob, riskStore } = options
  const { risks, incarnation } = shared
  const onFailed = (cause: unknown): void => {
    count('risk_shared_failed')
    log.warn({ err: cause }, 'risks could not be exchanged with PostgreSQL; signals wait in the spool, retrying')
  }
  const { feed, follower } = await openFeed(options, onFailed)
  const worker = createPartitionWorker({
    store: risks,
    holder: incarnation,
    rules: config.riskRules,
    clock,
    count,
    onFailed,
  })
  const { sender, held } = openSender(options, onFailed)
  const history = { outbox: risks.outbox, store: riskStore, clearedDays: config.retentionDays.risks, clock, log, count }

  return {
    feed,
    held,
    async start() {
      opened('risk feed', () => follower.stop())
      follower.start()
      opened('risk partitions', () => worker.stop())
      worker.start()
      opened('risk signals', () => sender.stop())
      sender.start()
      const onEvents = (): void => void follower.poll()
      opened('hints of risks', risks.onHint({ onSignals: () => worker.wake(), onEvents }))
      await runJob('risk history', () => createSharedHistory(history))
      await runJob('service levels', () => createSharedServiceLevels({ ...options, signals: risks }))
    },
  }
}

async function openFeed({ shared, config, clock, log, count, riskStore }: SharedRisksOptions, onFailed: OnFailed) {
  const { risks } = shared
  const options: EventFollowerOptions = {
    feed: risks.feed,
    clock,
    publish: (events) => live.publish(events),
    onGap: (afterId, fromId) => live.fillGap(afterId, fromId),
    onFailed,
  }
  const follower = shared.isJoined() ? await openEventFollower(options) : openLateEventFollower(options)
  const live: LiveRiskFeed = new LiveRiskFeed({
    store: riskStore,
    checkpoint: {
      lastEventId: () => follower.fromId,
      waiting: (tenant, afterId) => waitingEvents(risks.feed, tenant, afterId),
    },
    refresh: () => follower.poll(),
    onBroken(cause) {
      count('risk_subscriber_broken')
      log.error({ err: cause }, 'risk subscriber threw; it receives no more events')
    },
  })
  const read: SharedRiskFeedOptions = {
    live,
    episodes: risks.episodes,
    feed: risks.feed,
    store: riskStore,
    rules: config.riskRules,
    nowMs: clock.nowMs,
    matches,
  }
  return { feed: createSharedRiskFeed(read), follower }
}

type OnFailed = (cause: unknown) => void

function openSender({ shared, checkpoint, reader, gauge, clock, count }: SharedRisksOptions, onFailed: OnFailed) {
  // A node that was alone has detected the risks before this position itself.
  let saved = checkpoint.signalPosition() ?? checkpoint.riskPosition()
  const sender = createSignalSender({
    reader,
    store: shared.risks,
    source: checkpoint.instance,
    from: saved,
    clock,
    isPressed: () => gauge.share >= PRESSED_SHARE,
    count,
    onFailed,
  })
  return {
    sender,
    /** On disk before the spool is released, so that a start does not look for what is gone. */
    held(read: SpoolPosition): SpoolPosition {
      const position = sender.held(read)
      if (!isSame(position, saved)) checkpoint.saveSignalPosition(position)
      saved = position
      return position
    },
  }
}

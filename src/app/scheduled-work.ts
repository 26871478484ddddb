/**
 * Composes the work that the service starts without a request: due times, the waiting list, compliance scores,
 * programmes and webhooks.
 */

import { APPROVAL_DUE } from '../control/approvals/approval-document.ts'
import { createApprovalEscalation } from '../control/approvals/approval-escalation.ts'
import type { Capacity } from '../control/subscriptions/capacity.ts'
import { createCredentialExpiry, CREDENTIAL_DUE } from '../control/access/credential-expiry.ts'
import { addKeyPrefixes } from '../control/access/key-prefixes.ts'
import { createErasureTasks } from '../control/access/erasure.ts'
import { CONSOLE_SESSION_DUE, createSessionExpiry } from '../interfaces/console-server/session-documents.ts'
import { REGISTERED_CLIENT_DUE } from '../control/identity/clients/registered-client-document.ts'
import type { SelfRegisteredClients } from '../control/identity/clients/self-registered-clients.ts'
import { PLATFORM_API } from '../foundation/domain/platform-api.ts'
import type { Compliance } from '../control/programmes/compliance.ts'
import type { ProgrammeRunner } from '../control/programmes/programme-runner.ts'
import type { Credentials } from '../control/access/credentials.ts'
import { RETIREMENT_DUE, type Retirement } from '../control/publishing/retirement.ts'
import { createScheduler, type Scheduler } from '../control/command/scheduler.ts'
import {
  createSubscriptionExpiry,
  SUBSCRIPTION_EXPIRY,
  SUBSCRIPTION_WARNING,
} from '../control/subscriptions/subscription-expiry.ts'
import type { Subscriptions } from '../control/subscriptions/subscriptions.ts'
import { createWaitingList } from '../control/subscriptions/waiting-list.ts'
import { MUTE_DUE } from '../control/mutes/mute-document.ts'
import { createMuteExpiry } from '../control/mutes/mute-expiry.ts'
import type { RunJob } from './node-jobs.ts'
import { readBuiltScore } from './built-score.ts'
import type { Webhooks } from './open-webhooks.ts'
import type { PlatformRecorder } from '../interfaces/platform/self-metering/platform-recorder.ts'
import { createCanaryWatch, type CanaryWatch } from '../control/service-levels/canary-watch.ts'
import type { CountEvent } from '../foundation/runtime/event-reasons.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { CreateId } from '../foundation/runtime/ids.ts'
import type { Opened } from '../foundation/runtime/lifecycle.ts'
import type { Log } from '../foundation/runtime/log.ts'
import type { Vault } from '../foundation/runtime/vault.ts'
import type { NameStore } from '../storage/store/name-store.ts'
import type { Registry } from '../storage/store/registry.ts'
import type { ServiceLevelStore } from '../storage/store/service-level-store.ts'

export interface ScheduledWorkOptions {
  readonly registry: Registry
  readonly capacity: Capacity
  readonly credentials: Pick<Credentials, 'announce'>
  readonly subscriptions: Pick<Subscriptions, 'cancel'>
  readonly compliance: Pick<Compliance, 'start' | 'scoreOwn' | 'storeOwn'>
  /** The OpenAPI document of the platform's own API. */
  readonly ownDocument: () => Uint8Array
  readonly createRunner: () => ProgrammeRunner
  readonly runJob: RunJob
  readonly registeredClients: Pick<SelfRegisteredClients, 'expire'>
  readonly retirement: Pick<Retirement, 'retirementDue'>
  readonly createWebhooks: () => Webhooks
  /** Stores that hold names of consumers. */
  readonly names: readonly NameStore[]
  readonly levels: Pick<ServiceLevelStore, 'revisions'>
  readonly recorder: Pick<PlatformRecorder, 'note'>
  readonly vault: Pick<Vault, 'decrypt'>
  /** The tenant of the operator. */
  readonly tenant: string
  readonly createId: CreateId
  readonly clock: Clock
  readonly log: Log
  readonly count: CountEvent
  readonly opened: Opened
}

/** Scoring takes three seconds of CPU if the document has changed since the service was built; the first calls should not wait for it. */
const OWN_SCORE_DELAY_MS = 120_000

/** Resolves when all work that was already due is complete. */
export async function startScheduledWork(options: ScheduledWorkOptions): Promise<void> {
  const { compliance, runJob, clock, opened } = options
  await runJob('waiting list', () => createWaitingList(options))
  await runJob('scheduler', () => createDueWork(options))
  // Scoring takes seconds, and startup does not depend on it.
  void compliance.start()
  const built = readBuiltScore()
  if (built !== null) void compliance.storeOwn(PLATFORM_API, built)
  const scoreOwn = (): void => void compliance.scoreOwn(PLATFORM_API, options.ownDocument())
  opened('score of the platform', clock.after(OWN_SCORE_DELAY_MS, scoreOwn))
  await runJob('programmes', options.createRunner)
  await runJob('webhooks', options.createWebhooks)
  await runJob('canaries', () => createCanaries(options))
  startKeyPrefixes(options)
}

function createCanaries({ recorder, ...options }: ScheduledWorkOptions): CanaryWatch {
  const note = (tenant: string, api: string, which: string): Promise<void> =>
    recorder.note('canary_failing', tenant, api, null, which)
  return createCanaryWatch({ ...options, note })
}

/** The tasks with a due time. */
function createDueWork(options: ScheduledWorkOptions): Scheduler {
  const { registry, retirement, recorder, createId, clock, log, count } = options
  const expiry = createSubscriptionExpiry({ registry, clock, createId, cancel: options.subscriptions.cancel })
  return createScheduler({
    registry,
    clock,
    log,
    count,
    handlers: {
      [APPROVAL_DUE]: createApprovalEscalation({
        registry,
        clock,
        onEscalation(tenant, approvalFlow) {
          count('approval_silent')
          log.warn({ tenant, approvalFlow }, 'approval request has been pending for three days; see /v1/approvals')
        },
      }),
      [SUBSCRIPTION_WARNING]: expiry.warn,
      [SUBSCRIPTION_EXPIRY]: expiry.expire,
      ...createErasureTasks(options),
      [REGISTERED_CLIENT_DUE]: options.registeredClients.expire,
      [MUTE_DUE]: createMuteExpiry({ registry, clock }),
      [CONSOLE_SESSION_DUE]: createSessionExpiry({ registry }),
      [CREDENTIAL_DUE]: createCredentialExpiry({ registry, clock, createId }),
      async [RETIREMENT_DUE]({ tenant, subject: api }) {
        if (await retirement.retirementDue(tenant, api)) return
        count('retirement_blocked')
        await recorder.note('retirement_blocked', tenant, api, null)
        log.warn(
          { tenant, api },
          'retirement date of an API has passed while subscriptions are active; the API keeps serving',
        )
      },
    },
  })
}

/** A data folder of an earlier version may have many keys, and startup does not depend on them. */
function startKeyPrefixes(options: ScheduledWorkOptions): void {
  const { log, opened } = options
  let isStopped = false
  const done = addKeyPrefixes({ ...options, isStopped: () => isStopped }).catch((cause: unknown) => {
    log.error(
      { err: cause },
      'API keys of an earlier version cannot be found by their start; the next start tries again',
    )
  })
  opened('starts of API keys', async () => {
    isStopped = true
    await done
  })
}

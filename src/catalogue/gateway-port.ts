/**
 * What the catalogue asks of the gateway's threads. Every promise resolves when every thread has
 * acknowledged: what a command answers is then true for the next call on any thread.
 */

import type { SlaPlan } from '../opensla/sla-plan.ts'
import type { Grant } from './grant.ts'
import type { RoutePlan } from './route-plan.ts'

export interface PreparedRevision {
  /** Every thread serves the revision from its next call on. */
  swap(): Promise<void>
  /** Forgets what was compiled. */
  abort(): void
}

export interface GatewayPort {
  /** Compiles the revision aside on every thread. Throws `Problem('specification_invalid')` where one cannot. */
  prepare(plan: RoutePlan, slas: readonly SlaPlan[]): Promise<PreparedRevision>
  /** A declaration comes into force for running subscriptions; counters of the same `key` go on. */
  applySla(sla: SlaPlan): Promise<void>
  /** Corrects what threads have cached of a credential; a grant that is not valid leaves a tombstone. */
  applyGrant(grant: Grant): Promise<void>
}

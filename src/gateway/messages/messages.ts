/**
 * What the main thread and a gateway thread tell each other. Every command is acknowledged by its
 * `id`; a request of a thread is answered by its own. Messages of one direction arrive in order,
 * which is what makes "a late answer cannot bring back what was revoked" hold (see `authenticate.ts`).
 */

import type { CredentialName, Grant } from '../../plan/grant.ts'
import type { RevokedToken } from '../../plan/gateway-port.ts'
import type { OauthAnswer, OauthCall } from '../../plan/oauth-call.ts'
import type { OwnAddresses } from '../../outbound/backend-guard.ts'
import type { ProviderPlan } from '../../plan/provider-plan.ts'
import type { RoutePlan } from '../../plan/route-plan.ts'
import type { Drift } from '../../domain/drift.ts'
import type { SlaPlan } from '../../plan/sla-plan.ts'
import type { Damage } from '../../record/damage.ts'
import type { SpoolSync } from '../../record/spool-writer-options.ts'
import type { SpoolPosition } from '../../store/checkpoint.ts'
import type { BlockRef } from '../limits/limit-memory.ts'
import type { GatePlan, UpstreamReport } from '../backend/upstream-gate.ts'
import type { EventReason } from '../../runtime/event-reasons.ts'

export interface JsonWebKeySet {
  readonly keys: readonly Readonly<Record<string, unknown>>[]
}

export type Command =
  /** Compiles a revision aside under the number of the command. */
  | { readonly type: 'prepare'; readonly plan: RoutePlan; readonly slas: readonly SlaPlan[] }
  | { readonly type: 'swap'; readonly prepared: number }
  | { readonly type: 'abort'; readonly prepared: number }
  | { readonly type: 'sla'; readonly sla: SlaPlan }
  | { readonly type: 'grant'; readonly grant: Grant }
  | { readonly type: 'keys'; readonly jwks: JsonWebKeySet }
  | { readonly type: 'membership'; readonly api: string; readonly productIds: readonly string[] }
  /** Several at once where a thread is brought up. */
  | { readonly type: 'revoked'; readonly tokens: readonly RevokedToken[] }
  | { readonly type: 'providers'; readonly providers: readonly ProviderPlan[] }
  /** Whether calls may go to the backend of an API. */
  | { readonly type: 'gate'; readonly api: string; readonly gate: GatePlan }
  /** Lets go of the limit blocks of one API: their places are about to change. */
  | { readonly type: 'blocks'; readonly api: string }
  | { readonly type: 'listen'; readonly port: number }
  | { readonly type: 'drain' }

export type ToThread =
  | { readonly type: 'command'; readonly id: number; readonly command: Command }
  | { readonly type: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly type: 'failed'; readonly id: number; readonly reason: string }

/** What a thread asks the main thread, and what it gets. */
export interface Requests {
  resolve: { ask: CredentialName; answer: Grant | null }
  /** Where the counters of a subscription lie. */
  block: { ask: { subscription: string; api: string; variant: string }; answer: BlockRef | null }
  /** A request to one of the OAuth endpoints. */
  oauth: { ask: OauthCall; answer: OauthAnswer }
  /** A federated token named a key that is not known: the provider is asked again, if it may be. True: its keys have changed. */
  refetch: { ask: { readonly provider: string }; answer: boolean }
}

export type ToHost =
  | { readonly type: 'loaded' }
  | { readonly type: 'listening'; readonly port: number }
  | { readonly type: 'acknowledged'; readonly id: number; readonly error: CommandError | null }
  | { readonly type: 'request'; readonly id: number; readonly name: keyof Requests; readonly ask: unknown }
  | { readonly type: 'grown' }
  | { readonly type: 'drift'; readonly drift: Drift }
  | { readonly type: 'upstream'; readonly reports: readonly UpstreamReport[] }
  | { readonly type: 'damage'; readonly damage: Damage }
  | { readonly type: 'counted'; readonly counts: readonly (readonly [EventReason, number])[] }
  | {
      readonly type: 'log'
      readonly level: 'info' | 'warn' | 'error'
      readonly message: string
      readonly detail: string
    }

export interface CommandError {
  readonly detail: string
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[]
}

/** What a thread is started with. */
export interface ThreadSettings {
  readonly thread: number
  readonly threads: number
  readonly host: string
  readonly gatewayUrl: string
  readonly spoolFolder: string
  /** How far the spool was taken in when the service started. */
  readonly spoolAfter: SpoolPosition
  readonly spoolSync: SpoolSync
  readonly spoolGauge: SharedArrayBuffer
  readonly spoolBytesMax: number
  /** Why the spool of a thread cannot be written; see `spool-faults.ts`. */
  readonly spoolFaults: SharedArrayBuffer
  /** Whether explanations of refused calls are kept beside their records. */
  readonly spoolExplains: boolean
  /** Key of the hash under which API keys are looked up, hex. */
  readonly hashKey: string
  readonly reusePort: boolean
  /** Connections that may be open at a time: from clients, and to backends. */
  readonly connections: { readonly clients: number; readonly backends: number }
  /** Where this service is reached: backends of tenants may not be there. */
  readonly ownAddresses: OwnAddresses
  /** The page at `/` for browsers, as HTML. */
  readonly rootPage?: string
  /** One word: 1 while the main thread has yet to hear that the spool of this thread has grown. */
  readonly grown: SharedArrayBuffer
  /** One word: calls of this thread that have no record yet. */
  readonly inFlight: SharedArrayBuffer
}

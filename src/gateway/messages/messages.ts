/**
 * Messages between the main thread and a gateway thread.
 *
 * Each command is acknowledged by its `id`, and each request of a gateway thread gets a response with the `id` of the request.
 * Messages of one direction arrive in order. `authenticate.ts` relies on that: a late response cannot restore a revoked
 * credential.
 */

import type { CredentialName, Grant } from '../../boundary/plan/grant.ts'
import type { RevokedPerson, RevokedToken } from '../../boundary/plan/gateway-port.ts'
import type { OauthAnswer, OauthCall } from '../../boundary/plan/oauth-call.ts'
import type { OwnAddresses } from '../../foundation/outbound/backend-guard.ts'
import type { ProviderPlan } from '../../boundary/plan/provider-plan.ts'
import type { PackedPlan } from '../../boundary/plan/packed-plan.ts'
import type { Drift } from '../../foundation/domain/drift.ts'
import type { SlaPlan } from '../../boundary/plan/sla-plan.ts'
import type { TraceSampler } from '../../foundation/domain/trace-sampler.ts'
import type { TlsPlan } from '../../foundation/tls/tls-plan.ts'
import type { Damage } from '../../storage/spool/damage.ts'
import type { SpoolSync } from '../../storage/spool/spool-writer-options.ts'
import type { SpoolPosition } from '../../storage/store/checkpoint.ts'
import type { BlockParameters } from '../../limits/active-declarations.ts'
import type { LeaseNeed } from '../../limits/lease-book.ts'
import type { BlockRef } from '../../limits/limit-memory.ts'
import type { GatePlan, UpstreamReport } from '../backend/upstream-gate.ts'
import type { EventReason } from '../../foundation/runtime/event-reasons.ts'

export interface JsonWebKeySet {
  readonly keys: readonly Readonly<Record<string, unknown>>[]
}

export interface StoredRevision {
  readonly plan: PackedPlan
  readonly slas: readonly SlaPlan[]
}

export type Command =
  /** Revisions that serve, for a thread that starts. */
  | { readonly type: 'restore'; readonly revisions: readonly StoredRevision[] }
  /** Compiles a revision under the `id` of the command; `swap` or `abort` refer to it by that number. */
  | { readonly type: 'prepare'; readonly plan: PackedPlan; readonly slas: readonly SlaPlan[] }
  /** With the products that the API belongs to now; the plan names those of the time when it was made. */
  | { readonly type: 'swap'; readonly prepared: number; readonly memberOfProductIds: readonly string[] }
  | { readonly type: 'abort'; readonly prepared: number }
  | { readonly type: 'withdraw'; readonly api: string }
  | { readonly type: 'sla'; readonly sla: SlaPlan }
  | { readonly type: 'grants'; readonly grants: readonly Grant[] }
  | { readonly type: 'keys'; readonly jwks: JsonWebKeySet }
  | { readonly type: 'membership'; readonly api: string; readonly productIds: readonly string[] }
  /** Contains several tokens only while a thread starts. */
  | { readonly type: 'revoked'; readonly tokens: readonly RevokedToken[] }
  | { readonly type: 'revokedPeople'; readonly people: readonly RevokedPerson[] }
  | { readonly type: 'providers'; readonly providers: readonly ProviderPlan[] }
  /** Sets the circuit breaker for the backend of an API. */
  | { readonly type: 'gate'; readonly key: string; readonly gate: GatePlan }
  /** Releases the limit blocks of one API, because their locations are about to change. */
  | { readonly type: 'blocks'; readonly api: string }
  /** Presents these certificates to new connections. */
  | { readonly type: 'certificates'; readonly tls: TlsPlan }
  | { readonly type: 'listen'; readonly port: number }
  /** Ends each connection with its next response, so that clients go elsewhere before `drain`. */
  | { readonly type: 'leave' }
  | { readonly type: 'drain' }

export type ToWorker =
  | { readonly type: 'command'; readonly id: number; readonly command: Command }
  | { readonly type: 'response'; readonly id: number; readonly value: unknown }
  | { readonly type: 'failed'; readonly id: number; readonly reason: string }

/** Requests of a gateway thread to the main thread, with their responses. */
export interface Requests {
  resolve: { parameters: CredentialName; response: Grant | null }
  /** Returns the location of the counters of a subscription. */
  block: { parameters: BlockParameters; response: BlockRef | null }
  /** Asks for leases; returns false if they cannot be had at the moment. */
  lease: { parameters: LeaseNeed; response: boolean }
  /** Executes a request to one of the OAuth endpoints. */
  oauth: { parameters: OauthCall; response: OauthAnswer }
  /**
   * Fetches the keys of a provider again, unless its minimum interval forbids it, because a federated token names an unknown
   * key. Returns true if the keys have changed.
   */
  refetch: { parameters: { readonly provider: string }; response: boolean }
}

export type ToMainThread =
  | { readonly type: 'loaded' }
  | { readonly type: 'listening'; readonly port: number }
  | { readonly type: 'acknowledged'; readonly id: number; readonly error: CommandError | null }
  | { readonly type: 'request'; readonly id: number; readonly name: keyof Requests; readonly parameters: unknown }
  | { readonly type: 'spoolGrown' }
  /** A stored revision cannot be compiled; the thread refuses the calls of its API. */
  | { readonly type: 'withheld'; readonly api: string; readonly error: CommandError }
  | { readonly type: 'drift'; readonly drift: Drift }
  | { readonly type: 'upstream'; readonly reports: readonly UpstreamReport[] }
  | { readonly type: 'damage'; readonly damage: Damage }
  /** Credentials that were used in a minute, in minutes since 1970. */
  | { readonly type: 'used'; readonly minute: number; readonly credentials: readonly string[] }
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

/** The part of the threads in the export of telemetry. */
export interface TelemetrySettings {
  /** Null: no traces are exported. */
  readonly sampler: TraceSampler | null
}

/** Settings with which a gateway thread is started. */
export interface ThreadSettings {
  readonly thread: number
  readonly threads: number
  readonly host: string
  readonly gatewayUrl: string
  /** Certificates at the start of the service; null: clients connect without TLS. */
  readonly tls: TlsPlan | null
  /** Networks of proxies whose `X-Forwarded-For` names the client. */
  readonly trustedProxies: readonly string[]
  /** Whether clients can register themselves (RFC 7591). */
  readonly allowsRegistration: boolean
  /** Origins whose pages may use the OAuth endpoint that serves all APIs. */
  readonly corsOrigins: readonly string[]
  readonly spoolFolder: string
  /** Checkpoint of the spool reader at the start of the service. */
  readonly spoolAfter: SpoolPosition
  /** The instance of the data folder. */
  readonly spoolInstance: string
  readonly spoolSync: SpoolSync
  readonly spoolGauge: SharedArrayBuffer
  readonly spoolBytesMax: number
  /** Reason why the spool of a thread cannot be written; see `spool-faults.ts`. */
  readonly spoolFaults: SharedArrayBuffer
  /** Until when calls may be served without the registry (`foundation/runtime/freshness.ts`); null: without end. */
  readonly freshness: SharedArrayBuffer | null
  /** Counts of messages over MCP; see `mcp/message-limit.ts`. */
  readonly messageCounts: SharedArrayBuffer
  readonly messagesPerMinute: number
  /** Whether calls are served, counted on this node alone, while their leases cannot be had. */
  readonly servesWithoutLeases: boolean
  /** Whether refusals name paths that no operation has. */
  readonly namesPaths: boolean
  /** Whether the spool stores an explanation next to the record of each refused call. */
  readonly spoolExplains: boolean
  /** Null: nothing is exported. */
  readonly telemetry: TelemetrySettings | null
  /** Key of the keyed hash for API key lookups, in hex. */
  readonly hashKey: string
  readonly reusePort: boolean
  /** Upper bounds for open connections: from clients, and to backends. */
  readonly connections: { readonly clients: number; readonly backends: number }
  /** Addresses of this service; the backend of a tenant must not use them. */
  readonly ownAddresses: OwnAddresses
  /** HTML page for browsers at `/`. */
  readonly rootPage?: string
  /** One Int32: 1 from the message that the spool of this thread has grown until the main thread has handled it. */
  readonly spoolGrownFlag: SharedArrayBuffer
  /** One Int32: number of calls of this thread without a record. */
  readonly inFlight: SharedArrayBuffer
}

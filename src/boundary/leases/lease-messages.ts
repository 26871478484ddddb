/**
 * The messages between a node and the grantor of leases.
 *
 * A request states what the node holds and has used in absolute numbers, so that a repeated, late or lost message changes nothing:
 * the grantor ignores a lower (session, sequence), and a node ignores every reply but that to its latest request. All numbers are
 * whole and below 2^53.
 */

import type { Bucket } from '../../foundation/domain/gcra.ts'

/**
 * The grantor follows the newest version, from any node, that it has seen within `LeaseTimings.keepMs`; of equal ones, that of the
 * request.
 */
interface Versioned {
  readonly version: number
}

/** Calls in a window, or units of a quota. */
export interface TotalBudget extends Versioned {
  readonly kind: 'total'
  readonly value: number
  readonly startMs: number
  readonly endMs: number
}

export interface RateBudget extends Bucket, Versioned {
  readonly kind: 'rate'
}

export interface ConcurrentBudget extends Versioned {
  readonly kind: 'concurrent'
  readonly value: number
  /** The node ends a call that takes longer. */
  readonly callMsMax: number
}

export type LeaseBudget = TotalBudget | RateBudget | ConcurrentBudget

export interface LeaseItem {
  readonly key: string
  readonly budget: LeaseBudget
  /** Calls that the node may still admit; slots of running calls included. */
  readonly held: number
  /** Calls that the node has admitted: in the window, or since its session began. 0 for slots. */
  readonly used: number
  /** Calls to be granted on top of `held`. */
  readonly want: number
  /** The smallest grant that is of use to a waiting call, if not 1: units of a quota are of no use to it in parts. */
  readonly least?: number
}

/** Asks for the generation and the time. */
export interface HelloMessage {
  readonly type: 'hello'
}

/** Begins a generation, unless a later one has begun or the server is another. */
export interface OpenMessage {
  readonly type: 'open'
  readonly epoch: number
  readonly runId: string
  /** True if there was no generation before: then nothing can have been granted. */
  readonly isFirst: boolean
  /** Identities of all nodes that may have held leases in the last hour. */
  readonly members: readonly string[]
  /** Milliseconds since the end of each member that has ended: it has admitted nothing since, unless the grantor heard it in this life. */
  readonly ended?: Readonly<Record<string, number>>
  readonly notAfterMs: number
}

export interface LeaseRequest {
  readonly type: 'request'
  /** Lease identity of the node, which changes when its journal is lost. */
  readonly node: string
  /** Increases with each start of the process. */
  readonly session: number
  readonly sequence: number
  readonly epoch: number
  /** Bounds of the grantor's clock, as the node knows it; outside them the request is not executed. */
  readonly notBeforeMs: number
  readonly notAfterMs: number
  /** Whether all that the node held when the generation began has been reported. */
  readonly isSynced: boolean
  /** The identity asks for nothing any more, so that the grantor evicts it, but not its calls. Default: false. */
  readonly isLast?: boolean
  readonly items: readonly LeaseItem[]
}

/** Bounds the items of a request. */
export const ITEMS_MAX = 200

export type LeaseMessage = HelloMessage | OpenMessage | LeaseRequest

export interface LeaseGrant {
  /** Calls granted by this request; negative if more is leased than the grantor knows of, or than a lowered limit allows. */
  readonly granted: number
  /** Calls that can still be granted to any node. */
  readonly free: number
  /** Whether the grantor knows all leases; otherwise it grants nothing. */
  readonly isOpen: boolean
  /** When it grants again, at the latest, in milliseconds. Missing: soon. */
  readonly opensInMs?: number
}

/** The generation that the grantor serves; `epoch` is 0 if there is none, because its data was lost. */
export interface GenerationReply {
  readonly type: 'generation'
  readonly nowMs: number
  readonly runId: string
  readonly epoch: number
  /** How often nodes have confirmed the grantor's clock in the generation. */
  readonly confirmations: number
  /** Whether the message was the one that began the generation. */
  readonly isOpener: boolean
}

export interface GrantedReply {
  readonly type: 'granted'
  readonly nowMs: number
  /** One for each item of the request, in its order. */
  readonly grants: readonly LeaseGrant[]
  /** Identities that have not reported what they held when the generation began, as long as a window of before can be open. */
  readonly waiting: readonly string[]
}

/** The request was not executed: the grantor's clock is outside the bounds, or a later request was executed before. */
export interface IgnoredReply {
  readonly type: 'clock' | 'stale'
  readonly nowMs: number
}

export type LeaseReply = GenerationReply | GrantedReply | IgnoredReply

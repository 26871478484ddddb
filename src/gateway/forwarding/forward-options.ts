/** Options of the forwarding of a call. */

import type { Backend } from '../backend/backend.ts'
import type { Balancer } from '../backend/balancer.ts'
import type { Call } from '../call/call.ts'
import type { ResponseReceiver, RoutedCall } from '../call/routed-call.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { UploadWatch } from '../connection/upload-watch.ts'
import type { Handshake } from '../websocket/handshake.ts'
import type { WebSockets } from '../websocket/web-sockets.ts'
import type { RelayOptions } from './response-relay.ts'

export interface ForwardOptions extends RelayOptions {
  /** Those of the revision. */
  readonly balancer: Balancer
  /** The first target that gets the call. */
  readonly backend: Backend
  readonly nowMs: () => number
  readonly count: CountEvent
  /** Holder of the backend's connections that the call counts for: its subscription, or `''` for public calls. */
  readonly holder: string
  readonly uploads: UploadWatch
  /** Receives the whole response; null if it is relayed. */
  readonly receiver: ResponseReceiver | null
  /** Path and query at a target, below its base path. */
  readonly target: string
  /** Headers as `toHeaderLines` has written them. */
  readonly lines: string
  /** A body in memory, the request itself if its body is streamed, or null without a body. */
  readonly body: Buffer | Call['request'] | null
  /** Length of a streamed body; -1 if it is unknown. */
  readonly bodyBytes: number
  /** Null unless the call asks for a WebSocket. */
  readonly upgrade: UpgradeRequest | null
}

export interface UpgradeRequest {
  readonly webSockets: WebSockets
  readonly routed: RoutedCall
  readonly handshake: Handshake
}

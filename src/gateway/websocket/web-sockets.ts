/**
 * The WebSockets of one gateway thread.
 *
 * Every second, each one is checked as a new call would be: it ends if its credential is revoked or has expired, if its subscription
 * is not active or its API is not served any more, or if its quota is used up.
 */

import type { Caller } from '../../boundary/plan/caller.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Authenticator, Refusal } from '../authentication/authenticate.ts'
import { authorise } from '../authentication/authorise.ts'
import type { Call } from '../call/call.ts'
import { findCertificateFault } from '../call/certificate-check.ts'
import type { RoutedCall } from '../call/routed-call.ts'
import { currentRevisionOf, type CompiledRevision } from '../call/revision.ts'
import type { SwitchedConnection } from '../connection/exchange.ts'
import type { HeaderMemo } from '../connection/header-memo.ts'
import type { ReaderWatch } from '../connection/reader-watch.ts'
import { toResponseFields } from '../connection/response-fields.ts'
import { editHeaders } from '../headers/header-edit.ts'
import type { ResponseRules } from '../headers/header-rules.ts'
import { CLOSE } from './frames.ts'
import { answerHandshake, type Handshake } from './handshake.ts'
import type { TrafficCounts } from './traffic-counts.ts'
import { WebSocketTunnel, type TunnelOwner } from './tunnel.ts'

export interface WebSocketsOptions {
  readonly authenticator: Pick<Authenticator, 'authenticate' | 'noteUse'>
  readonly revisionOf: (api: string) => CompiledRevision | undefined
  readonly isStaleAt: (monotonicMs: number) => boolean
  /** Charges what a call has used so far. Returns why it may use no more, or null. */
  readonly settle: (call: Call, usedMicro: number) => 'exhausted' | 'over' | null
  readonly readers: Pick<ReaderWatch, 'enter' | 'leave'>
  readonly responseRules: ResponseRules
  readonly clock: Pick<Clock, 'nowMs' | 'after' | 'every'>
  readonly onFault: (cause: unknown) => void
}

/** Counts what a WebSocket uses. */
export interface TrafficMeter {
  readonly traffic: TrafficCounts
  usedSoFar(): number
}

export interface OpenedCall {
  readonly routed: RoutedCall
  readonly handshake: Handshake
  readonly owner: TunnelOwner
  /** Null if the units do not depend on what is sent. */
  readonly meter: TrafficMeter | null
}

const SWITCHING_PROTOCOLS = 101
const CHECK_EVERY_MS = 1_000
/** Checks without a byte from either side: ten minutes. */
const IDLE_CHECKS_MAX = 600

export class WebSockets {
  readonly #options: WebSocketsOptions
  readonly #open = new Map<WebSocketTunnel, OpenedCall>()
  /** Those whose credential is being verified. */
  readonly #verifying = new Set<WebSocketTunnel>()
  #stop: (() => void) | null = null
  #isLeaving = false

  constructor(options: WebSocketsOptions) {
    this.#options = options
  }

  /** Ends all connections, and opens no others. */
  leave(): void {
    this.#isLeaving = true
    for (const tunnel of this.#open.keys())
      this.#guard(tunnel, () => tunnel.close(CLOSE.goingAway, 'The gateway stops.'))
  }

  /**
   * The backend has switched protocols. Sends the client its answer, and returns the connection; null if the response of the backend
   * is no valid answer. If the client cannot switch, the call is refused.
   */
  open(opened: OpenedCall, headers: HeaderMemo, backend: SwitchedConnection): WebSocketTunnel | null {
    const { routed, handshake, owner, meter } = opened
    const { call, operation } = routed
    const { readers, clock, responseRules } = this.#options
    const rules = routed.revision.cors === null ? responseRules.withoutCors : responseRules.withCors
    const lines = answerHandshake(handshake, headers.raw, rules)
    if (lines === null) {
      backend.socket.destroy()
      return null
    }
    const tunnel = new WebSocketTunnel({
      call,
      owner,
      traffic: meter?.traffic ?? { messages: 0, bytes: 0 },
      messageBytesMax: operation.webSocket!.messageBytesMax,
      readers,
      clock,
      onOver: (over) => this.#leave(over),
    })
    const client = this.#isLeaving ? null : (call.response.switchProtocols?.(tunnel) ?? null)
    if (client === null) {
      backend.socket.destroy()
      owner.abandon()
      this.#refuse(call)
      return tunnel
    }
    call.status = SWITCHING_PROTOCOLS
    const { responseEdit } = routed.revision
    call.head = { ...toResponseFields([]), lines: responseEdit === null ? lines : editHeaders(responseEdit, lines) }
    call.sendHead()
    call.response.flushHeaders()
    this.#open.set(tunnel, opened)
    this.#stop ??= clock.every(CHECK_EVERY_MS, () => this.#check())
    tunnel.start(client, backend)
    return tunnel
  }

  #refuse(call: Call): void {
    if (this.#isLeaving) {
      return call.refuse('unavailable', 'The gateway stops.', { headers: ['Retry-After', '1'], stage: 'forward' })
    }
    call.refuse(
      'payload_invalid',
      'The connection is not free: send a handshake on a new one, and nothing behind it before the response.',
    )
  }

  #leave(tunnel: WebSocketTunnel): void {
    this.#open.delete(tunnel)
    if (this.#open.size > 0) return
    this.#stop?.()
    this.#stop = null
  }

  #check(): void {
    const isStale = this.#options.isStaleAt(performance.now())
    for (const [tunnel, opened] of this.#open) {
      this.#guard(tunnel, () => {
        if (isStale) tunnel.close(CLOSE.tryAgain, 'The registry is lost.')
        else this.#checkOne(tunnel, opened)
      })
    }
  }

  #checkOne(tunnel: WebSocketTunnel, opened: OpenedCall): void {
    const { routed, meter } = opened
    tunnel.idleScans = tunnel.isActive ? 0 : tunnel.idleScans + 1
    tunnel.isActive = false
    if (tunnel.idleScans >= IDLE_CHECKS_MAX) return tunnel.close(CLOSE.goingAway, 'Idle for ten minutes.')
    const active = this.#options.revisionOf(routed.revision.plan.api)
    if (active === undefined || active.plan.state === 'Retired') {
      return tunnel.close(CLOSE.goingAway, 'The API is not served any more.')
    }
    const revision = currentRevisionOf(routed.revision, active)
    if (meter !== null && this.#settle(tunnel, routed.call, meter)) return
    if (routed.callerContext !== null) this.#verify(tunnel, routed, revision)
  }

  /** Returns whether the connection has ended. */
  #settle(tunnel: WebSocketTunnel, call: Call, meter: TrafficMeter): boolean {
    const ended = this.#options.settle(call, meter.usedSoFar())
    if (ended === 'exhausted') tunnel.close(CLOSE.policy, 'The quota is exhausted.')
    else if (ended === 'over') tunnel.close(CLOSE.goingAway, 'The period of the quota is over.')
    return ended !== null
  }

  #verify(tunnel: WebSocketTunnel, routed: RoutedCall, revision: CompiledRevision): void {
    const { credentials, operation } = routed
    if (this.#verifying.has(tunnel)) return
    const judge = (result: Caller | Refusal): void => {
      if ('code' in result) {
        if (result.code !== 'unavailable') tunnel.close(CLOSE.policy, 'The credential is not valid any more.')
      } else if (authorise(operation.plan.security, result, revision) !== null) {
        tunnel.close(CLOSE.policy, 'The credential does not permit this operation any more.')
      } else if (this.#hasCertificateFault(routed, result)) {
        tunnel.close(CLOSE.policy, 'The client certificate is not valid any more.')
      } else this.#options.authenticator.noteUse(result)
    }
    const { authorization, apiKey } = credentials
    const result = this.#options.authenticator.authenticate(authorization, apiKey, revision.plan.api)
    if (!(result instanceof Promise)) return judge(result)
    this.#verifying.add(tunnel)
    result
      .then((late) => this.#guard(tunnel, () => judge(late)), this.#options.onFault)
      .finally(() => this.#verifying.delete(tunnel))
  }

  #hasCertificateFault({ call, operation }: RoutedCall, caller: Caller): boolean {
    const isRequired = operation.plan.requiresCertificate === true
    return findCertificateFault(caller, isRequired, call.socket, this.#options.clock.nowMs()) !== null
  }

  /** A fault ends the connection, and no other. */
  #guard(tunnel: WebSocketTunnel, step: () => void): void {
    try {
      step()
    } catch (cause) {
      const opened = this.#open.get(tunnel)
      if (opened === undefined) this.#options.onFault(cause)
      else opened.routed.call.crash(cause)
    }
  }
}

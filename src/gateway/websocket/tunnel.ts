/**
 * An open WebSocket between a client and a backend.
 *
 * It is one call, which ends when the first close frame of the backend arrives, or when one of the sides leaves or breaks the protocol.
 * Close frames are not passed on: the client gets its own when the spool has the record of the call. After that each side has five
 * seconds to close its connection.
 *
 * A close frame is only written between two frames. If a side has got a part of a frame, its connection just ends.
 */

import type { Socket } from 'node:net'
import type { Outcome } from '../../foundation/domain/outcome.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Call, CallOwner } from '../call/call.ts'
import type { SwitchedResponse } from '../connection/client.ts'
import type { SwitchedConnection } from '../connection/exchange.ts'
import type { ReaderWatch } from '../connection/reader-watch.ts'
import { FramePipe, type PipeEvents } from './frame-pipe.ts'
import { CLOSE, closeFrame, closePayload, type CloseCode } from './frames.ts'
import type { TrafficCounts } from './traffic-counts.ts'

/** The forwarding of the call. */
export interface TunnelOwner extends CallOwner {
  /** The deadline of the backend starts, because it does not read. */
  restart(): void
  stop(): void
}

export interface TunnelOptions {
  readonly call: Call
  readonly owner: TunnelOwner
  readonly traffic: TrafficCounts
  readonly messageBytesMax: number
  readonly readers: Pick<ReaderWatch, 'enter' | 'leave'>
  readonly clock: Pick<Clock, 'after'>
  /** Called once, when nothing more is passed on. */
  readonly onOver: (tunnel: WebSocketTunnel) => void
}

const CLOSED_WITHIN_MS = 5_000

export class WebSocketTunnel implements SwitchedResponse {
  /** Cleared by the check for idle connections, which counts its scans. */
  isActive = true
  idleScans = 0
  readonly #options: TunnelOptions
  #client: Socket | null = null
  #backend: Socket | null = null
  #up: FramePipe | null = null
  #down: FramePipe | null = null
  /** Payload of the close frame of the client. */
  #clientClose: Buffer | null = null
  /** Payload of the close frame for the client. */
  #toClient = closePayload(CLOSE.internal)
  #isOver = false
  #isClientClosing = false
  #stopWaiting: (() => void) | null = null

  constructor(options: TunnelOptions) {
    this.#options = options
  }

  get bytes(): number {
    return this.#options.traffic.bytes
  }

  start(client: Socket, { socket: backend, rest }: SwitchedConnection): void {
    const { messageBytesMax } = this.#options
    this.#client = client
    this.#backend = backend
    const up = { source: client, target: backend, isMasked: true, messageBytesMax, events: this.#eventsOfClient() }
    const down = { source: backend, target: client, isMasked: false, messageBytesMax, events: this.#eventsOfBackend() }
    this.#up = new FramePipe(up)
    this.#down = new FramePipe(down)
    client.on('end', () => this.#onClientEnd())
    client.on('close', () => this.#stopWaiting?.())
    backend.on('end', () => this.#onBackendEnd())
    backend.on('close', () => this.#onBackendEnd())
    this.#up.start(null)
    this.#down.start(rest)
  }

  /** Ends the connection for a reason that is not a failure of one of the sides. */
  close(code: CloseCode, reason: string): void {
    const payload = closePayload(code, reason)
    this.#end('served', payload, payload)
  }

  /** The call has ended elsewhere. */
  abandon(): void {
    this.#finish(closePayload(CLOSE.goingAway))
  }

  /** The spool has the record. */
  onRecorded(): void {
    this.#closeClient()
  }

  breakOff(): void {
    this.#finish(closePayload(CLOSE.internal))
    this.#closeClient()
  }

  #eventsOfClient(): PipeEvents {
    const { call, traffic, owner } = this.#options
    return {
      ...this.#eventsOfBoth(),
      onPayload(bytes) {
        traffic.bytes += bytes
        call.requestBytes += bytes
      },
      onClose: (payload) => this.#onClientClose(payload),
      onFault: (code) => this.#end('client_aborted', closePayload(code), closePayload(code)),
      onBlocked: (isBlocked) => (isBlocked ? owner.restart() : owner.stop()),
    }
  }

  #eventsOfBackend(): PipeEvents {
    const { call, traffic, readers } = this.#options
    return {
      ...this.#eventsOfBoth(),
      onPayload(bytes) {
        traffic.bytes += bytes
        call.responseBytes += bytes
      },
      onClose: (payload) => this.#end('served', payload, payload),
      onFault: (code) => this.#end('upstream_broken', closePayload(code), closePayload(code)),
      onBlocked: (isBlocked) => (isBlocked ? readers.enter(call) : readers.leave(call)),
    }
  }

  #eventsOfBoth(): Pick<PipeEvents, 'onActive' | 'onMessage' | 'onCrash'> {
    const { call, traffic } = this.#options
    return {
      onActive: () => void (this.isActive = true),
      onMessage: () => void traffic.messages++,
      onCrash: (cause) => call.crash(cause),
    }
  }

  /** The backend may still send what it has, and its own close frame. */
  #onClientClose(payload: Buffer): void {
    this.#clientClose = payload
    if (this.#isOver) return void this.#client?.end()
    this.#writeToBackend(payload)
    this.#await(() => this.#end('served', payload, null))
  }

  #onClientEnd(): void {
    if (this.#isOver) this.#client?.destroySoon()
    // The connection reports to the call that the client has gone.
    else if (this.#clientClose === null) this.#client?.destroy()
  }

  #onBackendEnd(): void {
    const { call } = this.#options
    call.attempt(() => {
      if (this.#clientClose !== null) this.#end('served', this.#clientClose, null)
      else this.#end('upstream_broken', closePayload(CLOSE.internal), null)
    })
  }

  /** Ends the call. The payloads are those of close frames. */
  #end(outcome: Outcome, toClient: Buffer, toBackend: Buffer | null): void {
    if (this.#isOver) return
    const { call, owner } = this.#options
    this.#toClient = toClient
    this.#finish(toBackend)
    owner.abandon()
    call.finish(outcome, null)
  }

  /** Passes on nothing more, and closes the connection to the backend. */
  #finish(toBackend: Buffer | null): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#stopWaiting?.()
    this.#up?.stop()
    this.#down?.stop()
    this.#options.onOver(this)
    const backend = this.#backend
    if (backend === null) return
    if (toBackend !== null && this.#clientClose === null) this.#writeToBackend(toBackend)
    backend.end()
    const stop = this.#options.clock.after(CLOSED_WITHIN_MS, () => backend.destroy())
    backend.on('close', stop)
  }

  #writeToBackend(payload: Buffer): void {
    if (this.#up?.isBetweenFrames === true) this.#backend?.write(closeFrame(payload, true))
  }

  #closeClient(): void {
    const client = this.#client
    if (client === null || client.destroyed || this.#isClientClosing) return
    this.#isClientClosing = true
    this.#await(() => client.destroy())
    if (this.#down?.isBetweenFrames !== true) return client.destroySoon()
    client.write(closeFrame(this.#toClient, false))
    if (this.#clientClose !== null) client.end()
  }

  #await(task: () => void): void {
    this.#stopWaiting?.()
    this.#stopWaiting = this.#options.clock.after(CLOSED_WITHIN_MS, () => this.#options.call.attempt(task))
  }
}

/**
 * One connection of an event stream.
 *
 * A comment every 15 s keeps the connection alive. A client that falls behind is disconnected before its unsent events fill the
 * memory, and can resume. A client that does not close its side in time after the end is disconnected as well.
 */

import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Clock } from '../../foundation/runtime/clock.ts'

export interface EventReader {
  /** Sends the text of an event or a comment. */
  send(text: string): void
  /** Resolves when the send buffer has room; rejects after the end. */
  drained(): Promise<void>
  /** Registers the function that stops the source of events; it is called at the end. */
  onStop(stop: () => void): void
  /** Ends the stream; returns false if it had ended before. */
  end(reason: EndReason): boolean
}

export type EndReason =
  | 'done'
  | 'reader_gone'
  | 'reader_slow'
  | 'token_expired'
  | 'credential_closed'
  | 'resume_failed'
  | 'service_stopping'

export interface EventReaderOptions {
  readonly response: ServerResponse
  readonly requestId: string
  /** Further headers, by name. */
  readonly headers: OutgoingHttpHeaders
  readonly clock: Clock
  readonly endsAtMs: number
  /** Whether the reader's credential still grants the stream; does not reject. */
  readonly isStillOpen: () => Promise<boolean>
  readonly onEnd: (reason: EndReason) => void
}

export const MEDIA_TYPE = 'text/event-stream'
const HEARTBEAT_MS = 15_000
const UNSENT_BYTES_MAX = 1024 * 1024
/** Maximum time to read one batch of past events. */
const DRAIN_MS_MAX = 30_000
/** Time for the client to close its side after the end. */
const CLOSE_MS_MAX = 2_000
const RETRY_MS = 1_000
/** `setTimeout` overflows above 2^31 − 1 ms (24.8 days). */
const TIMER_MS_MAX = 2_147_483_647

export function createEventReader(options: EventReaderOptions): EventReader {
  return new ResponseReader(options)
}

class ResponseReader implements EventReader {
  readonly #options: EventReaderOptions
  readonly #response: ServerResponse
  readonly #stopHeartbeat: () => void
  readonly #cancelExpiry: () => void
  #isOver = false
  #stopSource: (() => void) | null = null
  #wake: (() => void) | null = null

  constructor(options: EventReaderOptions) {
    const { response, clock, endsAtMs } = options
    this.#options = options
    this.#response = response
    this.#stopHeartbeat = clock.every(HEARTBEAT_MS, () => this.#beat())
    const lifeMs = Math.min(TIMER_MS_MAX, Math.max(0, endsAtMs - clock.nowMs()))
    this.#cancelExpiry = clock.after(lifeMs, () => this.end('token_expired'))
    response.on('close', () => this.end('reader_gone'))
    response.on('error', () => this.end('reader_gone'))
    response.on('drain', () => this.#wake?.())
    beginStream(options)
    if (response.destroyed) this.end('reader_gone')
  }

  send(text: string): void {
    if (this.#isOver) return
    this.#response.write(text)
    if (this.#response.writableLength > UNSENT_BYTES_MAX) this.#disconnect()
  }

  async drained(): Promise<void> {
    if (!this.#isOver && this.#response.writableNeedDrain) {
      const cancel = this.#options.clock.after(DRAIN_MS_MAX, () => this.#disconnect())
      await new Promise<void>((resolve) => (this.#wake = resolve))
      cancel()
    }
    if (this.#isOver) throw new Error('the event stream has ended')
  }

  onStop(stop: () => void): void {
    this.#stopSource = stop
    if (this.#isOver) stop()
  }

  end(reason: EndReason): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#stopHeartbeat()
    this.#cancelExpiry()
    this.#stopSource?.()
    this.#wake?.()
    this.#options.onEnd(reason)
    if (this.#response.closed) return true
    const destroy = (): void => void this.#response.destroy()
    this.#response.once('close', this.#options.clock.after(CLOSE_MS_MAX, destroy))
    this.#response.end()
    return true
  }

  #beat(): void {
    this.send(': alive\n\n')
    void this.#options.isStillOpen().then((isOpen) => isOpen || this.end('credential_closed'))
  }

  #disconnect(): void {
    this.end('reader_slow')
    this.#response.destroy()
  }
}

function beginStream({ response, headers, requestId }: EventReaderOptions): void {
  response.writeHead(200, {
    ...headers,
    'Content-Type': MEDIA_TYPE,
    'Cache-Control': 'no-store',
    // The connection is not reused after the stream.
    Connection: 'close',
    'X-Accel-Buffering': 'no',
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': requestId,
  })
  response.write(`retry: ${RETRY_MS}\n\n`)
}

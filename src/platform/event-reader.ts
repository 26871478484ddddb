/**
 * One reader of an event stream: its connection and the end of it.
 *
 * A comment every 15 s keeps the connection alive. A reader that falls behind is disconnected before its unsent events fill the
 * memory, and can resume. After the end, a reader that does not close its side in time is disconnected as well.
 */

import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Clock } from '../runtime/clock.ts'

export interface EventReader {
  /** Sends the text of an event or a comment. */
  send(text: string): void
  /** Resolves when the send buffer has room; rejects after the end. */
  readonly drained: () => Promise<void>
  /** Registers the function that stops the source of events; it is called at the end. */
  onStop(stop: () => void): void
  /** Ends the stream; returns false if it had ended before. */
  end(reason: EndReason): boolean
}

export type EndReason =
  'done' | 'reader_gone' | 'reader_slow' | 'token_expired' | 'credential_closed' | 'resume_failed' | 'service_stopping'

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
  const { response, clock, endsAtMs, isStillOpen, onEnd } = options
  let isOver = false
  let stop: (() => void) | null = null
  let wake: (() => void) | null = null
  const stopHeartbeat = clock.every(HEARTBEAT_MS, beat)
  const lifeMs = Math.min(TIMER_MS_MAX, Math.max(0, endsAtMs - clock.nowMs()))
  const cancelExpiry = clock.after(lifeMs, () => end('token_expired'))

  response.on('close', () => end('reader_gone'))
  response.on('error', () => end('reader_gone'))
  response.on('drain', () => wake?.())
  beginStream(options)
  if (response.destroyed) end('reader_gone')

  function beat(): void {
    send(': alive\n\n')
    void isStillOpen().then((isOpen) => isOpen || end('credential_closed'))
  }

  function send(text: string): void {
    if (isOver) return
    response.write(text)
    if (response.writableLength > UNSENT_BYTES_MAX) disconnect()
  }

  function disconnect(): void {
    end('reader_slow')
    response.destroy()
  }

  async function drained(): Promise<void> {
    if (!isOver && response.writableNeedDrain) {
      const cancel = clock.after(DRAIN_MS_MAX, disconnect)
      await new Promise<void>((resolve) => (wake = resolve))
      cancel()
    }
    if (isOver) throw new Error('the reader is gone')
  }

  function end(reason: EndReason): boolean {
    if (isOver) return false
    isOver = true
    stopHeartbeat()
    cancelExpiry()
    stop?.()
    wake?.()
    onEnd(reason)
    if (response.closed) return true
    response.once(
      'close',
      clock.after(CLOSE_MS_MAX, () => response.destroy()),
    )
    response.end()
    return true
  }

  return {
    send,
    drained,
    end,
    onStop(stopSource) {
      stop = stopSource
      if (isOver) stopSource()
    },
  }
}

function beginStream({ response, headers, requestId }: EventReaderOptions): void {
  response.writeHead(200, {
    ...headers,
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-store',
    // The connection is not reused after the stream.
    Connection: 'close',
    'X-Accel-Buffering': 'no',
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': requestId,
  })
  response.write(`retry: ${RETRY_MS}\n\n`)
}

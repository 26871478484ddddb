/**
 * One reader of an event stream: its connection, and when it ends.
 *
 * A comment every 15 s keeps the connection. A reader that does not take what it is sent is cut off
 * before it can fill memory, and resumes. Whatever the reason for its end, nothing of a reader stays:
 * one that does not close its side in time is cut off as well.
 */

import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Clock } from '../runtime/clock.ts'

export interface EventReader {
  /** Sends text that is an event or a comment. */
  send(text: string): void
  /** Resolves when there is room for more; rejects when the reader is gone. */
  readonly drained: () => Promise<void>
  /** Takes how to stop what feeds the reader. */
  onStop(stop: () => void): void
  /** Whether it ended now; false where it had before. */
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
  /** Whether the reader's credential still opens the stream; does not reject. */
  readonly isStillOpen: () => Promise<boolean>
  readonly onEnd: (reason: EndReason) => void
}

const HEARTBEAT_MS = 15_000
const UNSENT_BYTES_MAX = 1024 * 1024
/** How long a reader may take for a stretch of its past. */
const DRAIN_MS_MAX = 30_000
const GOODBYE_MS = 2_000
const RETRY_MS = 1_000
/** `setTimeout` cannot wait longer. */
const TIMER_MS_MAX = 2_147_483_647

export function createEventReader(options: EventReaderOptions): EventReader {
  const { response, requestId, headers, clock, endsAtMs, isStillOpen, onEnd } = options
  let isOver = false
  let stop: (() => void) | null = null
  let wake: (() => void) | null = null
  const stopHeartbeat = clock.every(HEARTBEAT_MS, beat)
  const lifeMs = Math.min(TIMER_MS_MAX, Math.max(0, endsAtMs - clock.nowMs()))
  const cancelExpiry = clock.after(lifeMs, () => end('token_expired'))

  response.on('close', () => end('reader_gone'))
  response.on('error', () => end('reader_gone'))
  response.on('drain', () => wake?.())
  response.writeHead(200, {
    ...headers,
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-store',
    // The connection has nothing else to serve once the stream is over.
    Connection: 'close',
    'X-Accel-Buffering': 'no',
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': requestId,
  })
  response.write(`retry: ${RETRY_MS}\n\n`)
  if (response.destroyed) end('reader_gone')

  function beat(): void {
    send(': alive\n\n')
    void isStillOpen().then((isOpen) => isOpen || end('credential_closed'))
  }

  function send(text: string): void {
    if (isOver) return
    response.write(text)
    if (response.writableLength > UNSENT_BYTES_MAX) cutOff()
  }

  function cutOff(): void {
    end('reader_slow')
    response.destroy()
  }

  async function drained(): Promise<void> {
    if (!isOver && response.writableNeedDrain) {
      const cancel = clock.after(DRAIN_MS_MAX, cutOff)
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
      clock.after(GOODBYE_MS, () => response.destroy()),
    )
    response.end()
    return true
  }

  return {
    send,
    drained,
    end,
    onStop(how) {
      stop = how
      if (isOver) how()
    },
  }
}

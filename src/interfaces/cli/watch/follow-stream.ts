/**
 * Follows a stream of events until Ctrl-C: reconnects with `Last-Event-ID` and a growing pause, and with a new token if the old one
 * has expired.
 */

import { setTimeout as pause } from 'node:timers/promises'
import type { ServerSentEvent, StreamRefused } from '../event-stream.ts'
import { CommandFailed } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { explainProblem } from '../session/api-client.ts'
import type { Session } from '../session/session.ts'

export interface FollowOptions {
  readonly session: Session
  readonly path: string
  /** Default: the platform address. */
  readonly origin?: string
  readonly lastEventId?: string
  /** Called once, when the stream is open for the first time. */
  readonly onOpen?: () => void
  /** Returns true to end. */
  readonly onEvent: (event: ServerSentEvent) => boolean | void
}

const PAUSE_MS = 1_000
const PAUSE_MS_MAX = 30_000
const EXIT_REFUSED = 1

export async function followStream(options: FollowOptions, io: Io): Promise<void> {
  // Help does not need the HTTP client of streams, which takes a while to load.
  const stream = await import('../event-stream.ts')
  const { session, path, origin = session.baseUrl, onEvent } = options
  let { onOpen } = options
  const interrupted = io.interruptible()
  const done = new AbortController()
  const signal = AbortSignal.any([interrupted, done.signal])
  let lastEventId = options.lastEventId
  let pauseMs = PAUSE_MS
  let isRefused = false
  while (!signal.aborted) {
    try {
      await stream.readEventStream({
        url: `${origin}${path}`,
        token: await session.token(isRefused),
        signal,
        ...(lastEventId !== undefined && { lastEventId }),
        onOpen() {
          pauseMs = PAUSE_MS
          onOpen?.()
          onOpen = undefined
        },
        onEvent(event) {
          isRefused = false
          if (event.id !== '') lastEventId = event.id
          if (onEvent(event)) done.abort()
        },
      })
    } catch (cause) {
      if (signal.aborted) return
      if (cause instanceof CommandFailed && cause.exitCode === EXIT_REFUSED) throw cause
      isRefused = cause instanceof stream.StreamRefused && isRenewable(cause, isRefused)
      if (!isRefused) io.err.write(`tollgate: the stream was interrupted; reconnecting in ${pauseMs / 1000} s\n`)
    }
    await pause(pauseMs, undefined, { signal }).catch(() => {})
    pauseMs = Math.min(PAUSE_MS_MAX, pauseMs * 2)
  }
}

/** Returns true if a new token may help; throws if the service refuses the stream for good. */
function isRenewable({ status, text }: Pick<StreamRefused, 'status' | 'text'>, wasRefused: boolean): boolean {
  if (status >= 500 || status === 429) return false
  if (status === 401 && !wasRefused) return true
  throw new CommandFailed(explainProblem({ status, body: Buffer.from(text) }), EXIT_REFUSED)
}

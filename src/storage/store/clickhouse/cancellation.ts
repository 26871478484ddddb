/**
 * Ends the statements of callers who have gone.
 *
 * The embedded engine has no call for this, and rejects an aborted statement while it continues to run. A statement therefore carries
 * an id by which another connection ends it, and counts as running until the engine has ended it.
 */

import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { within, type ClickHouse } from './client.ts'

export type Canceller = Pick<ClickHouse, 'command'>

/** A statement that the engine has not begun yet cannot be ended, so it is tried again. */
const RETRY_MS = 100
const TRIES_MAX = 200

/** Calls `run` with the settings of its statement, which is ended when the signal aborts. */
export async function cancellable<T>(
  canceller: Canceller | null,
  signal: AbortSignal | undefined,
  run: (settings: string) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted()
  if (canceller === null || signal === undefined) return run('')
  const id = randomUUID()
  const ended = new AbortController()
  const cancel = (): void => void endStatement(canceller, id, ended.signal)
  signal.addEventListener('abort', cancel, { once: true })
  try {
    return await run(`, log_comment = '${id}'`)
  } finally {
    ended.abort()
    signal.removeEventListener('abort', cancel)
  }
}

/** A failure needs no log: the statement has a time limit of its own. */
async function endStatement(canceller: Canceller, id: string, ended: AbortSignal): Promise<void> {
  const query = `KILL QUERY WHERE Settings['log_comment'] = '${id}' ASYNC`
  try {
    for (let tries = 0; tries < TRIES_MAX && !ended.aborted; tries++) {
      await canceller.command({ query, abort_signal: within(undefined) })
      await pause(RETRY_MS, undefined, { signal: ended, ref: false })
    }
  } catch {
    return
  }
}

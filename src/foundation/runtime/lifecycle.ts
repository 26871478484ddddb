/**
 * Closes components in reverse order of opening, each within a time limit.
 *
 * Each component registers its close function when it is opened, so the order follows construction: a connection never closes before
 * the buffer that depends on it.
 */

import type { Clock } from './clock.ts'
import type { Log } from './log.ts'

/** Registers the close function of a component that was just opened. */
export type Opened = (name: string, close: () => Promise<void> | void) => void

export interface Lifecycle {
  readonly opened: Opened
  /** Closes everything, last opened first; a second call waits for the first. Failures are logged, not thrown. */
  close(): Promise<void>
}

const CLOSE_WITHIN_MS = 40_000

export function createLifecycle({ clock, log }: { clock: Clock; log: Log }): Lifecycle {
  const open: { name: string; close: () => Promise<void> | void }[] = []
  let closing: Promise<void> | null = null

  async function closeAll(): Promise<void> {
    for (let part = open.pop(); part !== undefined; part = open.pop()) {
      const { name, close } = part
      const { promise: late, resolve } = Promise.withResolvers<'late'>()
      const cancel = clock.after(CLOSE_WITHIN_MS, () => resolve('late'))
      try {
        const end = await Promise.race([Promise.resolve(close()), late])
        if (end === 'late')
          log.error({ part: name }, 'a component did not close within its time limit; shutdown continues without it')
      } catch (cause) {
        log.error({ err: cause, part: name }, 'a component failed to close; shutdown continues')
      }
      cancel()
    }
  }

  return {
    opened: (name, close) => void open.push({ name, close }),
    close: () => (closing ??= closeAll()),
  }
}

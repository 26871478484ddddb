/**
 * Work that can be held back for a moment.
 *
 * Several tasks may run at a time. `hold` waits for those that run; tasks that come after it wait until it is let go. A task that
 * finds the gate open starts in the same turn.
 */

export interface Gate {
  run<T>(this: void, task: () => Promise<T>): Promise<T>
  /** Resolves when nothing runs. The function that it returns opens the gate; a second call of it does nothing. */
  hold(this: void): Promise<() => void>
}

export function createGate(): Gate {
  let running = 0
  let held: Promise<void> | null = null
  let onIdle: (() => void) | null = null

  async function run<T>(task: () => Promise<T>): Promise<T> {
    while (held !== null) await held
    running++
    try {
      return await task()
    } finally {
      running--
      if (running === 0) onIdle?.()
    }
  }

  async function hold(): Promise<() => void> {
    while (held !== null) await held
    const { promise, resolve } = Promise.withResolvers<void>()
    held = promise
    if (running > 0) {
      await new Promise<void>((idle) => (onIdle = idle))
      onIdle = null
    }
    return () => {
      if (held === promise) held = null
      resolve()
    }
  }

  return { run, hold }
}

/**
 * A gate that can pause asynchronous tasks, like a readers-writer lock.
 *
 * Tasks run concurrently while the gate is open, and `run` starts them synchronously. `hold` waits for running tasks; later tasks wait
 * until the gate is opened again.
 */

export interface Gate {
  run<T>(this: void, task: () => Promise<T>): Promise<T>
  /** Closes the gate and resolves when no task runs. Returns a function that opens the gate; a second call does nothing. */
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

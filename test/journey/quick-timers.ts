/** Preload of a service that is to become idle soon: what it does after ten seconds or more, it does after a tenth of the time. */

const LONG_MS = 10_000
const FACTOR = 10

const realSetTimeout = setTimeout

globalThis.setTimeout = Object.assign(
  (task: (...parts: unknown[]) => void, delayMs = 0, ...parts: unknown[]) =>
    realSetTimeout(task, delayMs < LONG_MS ? delayMs : delayMs / FACTOR, ...parts),
  realSetTimeout,
) as typeof setTimeout

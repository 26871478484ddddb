/** Reads for how long a backend keeps an idle connection open (`Keep-Alive: timeout=5`). */

/** The backend's clock started before ours, and a request needs time to arrive. */
const MARGIN_MS = 2_000
const NAME = 'keep-alive'

/** Returns how long the connection may be idle; Infinity if the backend does not say. */
export function keepAliveMs(headers: readonly string[]): number {
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!
    if (name.length !== NAME.length || name.toLowerCase() !== NAME) continue
    const seconds = /(?:^|[\s,])timeout=(\d+)/i.exec(headers[index + 1]!)?.[1]
    if (seconds !== undefined) return Math.max(0, Number(seconds) * 1_000 - MARGIN_MS)
  }
  return Infinity
}

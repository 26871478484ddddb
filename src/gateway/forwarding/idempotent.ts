/** Requests whose effect is the same if they are executed twice (RFC 9110, 9.2.2). A WebSocket is none: its messages have effects. */

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE'])

export function isIdempotent(method: string, isUpgrade: boolean): boolean {
  return !isUpgrade && METHODS.has(method)
}

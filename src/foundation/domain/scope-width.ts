/**
 * The widths of a scope of the platform API: `usage:read` covers the tenant, and `usage:read:own` only what belongs to the consumer
 * of the caller. A wide scope includes the own one.
 */

const OWN = ':own'

export function ownScope(scope: string): string {
  return scope + OWN
}

export function isOwnScope(scope: string): boolean {
  return scope.endsWith(OWN)
}

/** Returns the scope of the same right that covers the tenant. */
export function wideScope(scope: string): string {
  return isOwnScope(scope) ? scope.slice(0, -OWN.length) : scope
}

/** Returns whether `held` has the scope, or includes it in a wider one. */
export function includesScope(held: { has(scope: string): boolean }, scope: string): boolean {
  return held.has(scope) || held.has(wideScope(scope))
}

/**
 * Replaces the first segments of the paths of an operation.
 *
 * The number of segments is known at activation. A call's other segments and its query stay byte for byte as the client sent them,
 * because the backend must read them as the gateway did.
 */

import type { BasePathTransform } from '../../boundary/plan/transform-plan.ts'

export interface PathRewrite {
  /** Segments that `prefix` replaces. */
  readonly dropped: number
  /** Begins with a slash and does not end with one; may be `''`. */
  readonly prefix: string
}

const SLASH = 47
const QUESTION = 63

/** `path` is that of the document. Returns null if it does not begin with the segments of `from`. */
export function compileRewrite(transform: BasePathTransform | undefined, path: string): PathRewrite | null {
  if (transform === undefined) return null
  const from = withoutEnd(transform.from)
  if (path !== from && !path.startsWith(`${from}/`)) return null
  return { dropped: from.split('/').length - 1, prefix: withoutEnd(transform.to) }
}

/** `target` is canonical (`path.ts`) and has led to the operation. */
export function rewriteTarget({ dropped, prefix }: PathRewrite, target: string): string {
  let at = 0
  for (let left = dropped; at < target.length; at++) {
    const code = target.charCodeAt(at)
    if (code === QUESTION || (code === SLASH && left-- === 0)) break
  }
  const rest = target.slice(at)
  return prefix === '' && rest.charCodeAt(0) !== SLASH ? `/${rest}` : prefix + rest
}

function withoutEnd(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path
}

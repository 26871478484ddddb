/** Which methods a path takes, so that a wrong method is told from a wrong path (RFC 9110, 15.5.6). */

import type { Operation } from './operation.ts'

/** The methods of the path in `url`; none where there is no such path. */
export type AllowedMethods = (url: string) => readonly string[]

export function createAllowedMethods(operations: readonly Operation[]): AllowedMethods {
  const byPath = Map.groupBy(operations, ({ path }) => path)
  const paths = [...byPath].map(([path, group]) => ({ segments: path.split('/'), methods: methodsOf(group) }))

  return (url) => {
    const segments = (url.split('?', 1)[0] ?? '').split('/')
    return paths.find((path) => covers(path.segments, segments))?.methods ?? []
  }
}

function methodsOf(operations: readonly Operation[]): readonly string[] {
  const methods = operations.flatMap(({ method, endless }) =>
    method === 'GET' && endless !== true ? ['GET', 'HEAD'] : [method],
  )
  return [...new Set(methods)]
}

function covers(pattern: readonly string[], segments: readonly string[]): boolean {
  if (pattern.length !== segments.length) return false
  return pattern.every((part, index) => (part.startsWith(':') ? segments[index] !== '' : part === segments[index]))
}

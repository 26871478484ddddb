/** Distinguishes a wrong method (405) from an unknown path (404): RFC 9110, section 15.5.6. */

import type { Operation } from './operation.ts'

/** Returns the methods that the path in `url` supports; none if the path does not exist. */
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

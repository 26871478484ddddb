/**
 * The ETag of the answer to a change: the one that a GET of the resource has right after it.
 *
 * The answer has none if it does not contain the whole resource: a wrong one would make the next `If-Match` fail.
 */

import { etagOf } from './conditional.ts'
import type { Operation, Operations } from './operation.ts'

/** Returns the ETag of the resource in an answer of the operation; null if the answer does not contain all of it. */
export type TagAnswer = (answer: unknown) => string | null

export function tagAnswer(operations: Operations, operation: Operation): TagAnswer {
  const { answer: schema, method } = operation
  const reader = method === 'GET' ? undefined : readerOf(operations, operation)
  const answered = new Set(membersOf(schema))
  const members = new Set(membersOf(reader?.answer))
  if (members.size === 0 || !members.isSubsetOf(answered)) return () => null
  return (answer) => etagOf(JSON.stringify(only(answer, members)))
}

/** Returns the address of the created resource or of the result, in fastify's form. */
export function locationOf({ path, status, location }: Operation): string | null {
  return location ?? (status === 201 ? `${path}/:id` : null)
}

/** Returns the GET of the resource that an answer shows: the one at its `Location`, else the changed one. */
function readerOf(operations: Operations, operation: Operation): Operation | undefined {
  const location = locationOf(operation)
  if (location === null) return operation.changes === undefined ? undefined : operations[operation.changes]
  return Object.values(operations).find(({ method, path }) => method === 'GET' && shapeOf(path) === shapeOf(location))
}

/** Returns a path without the names of its parameters. */
function shapeOf(path: string): string {
  return path.replace(/:\w+/g, ':')
}

function membersOf(schema: Operation['answer']): readonly string[] {
  return Object.keys((schema?.['properties'] ?? {}) as object)
}

function only(answer: unknown, members: ReadonlySet<string>): unknown {
  return Object.fromEntries(Object.entries(answer as object).filter(([name]) => members.has(name)))
}

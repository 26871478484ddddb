/**
 * Search mode: three tools stand for all operations, so that a model does not have to read hundreds of definitions.
 *
 * `search_operations` and `describe_operation` call no operation; `call_operation` is a call of the operation that it names.
 */

import type { OperationPlan } from '../plan/route-plan.ts'

/** An operation by the name of its tool. */
export interface NamedOperation {
  readonly name: string
  readonly operation: Pick<OperationPlan, 'operationId' | 'method' | 'path' | 'summary' | 'description'>
}

export const SEARCH_OPERATIONS = 'search_operations'
const DESCRIBE_OPERATION = 'describe_operation'
export const CALL_OPERATION = 'call_operation'
export const NO_SUCH_OPERATION = 'There is no operation of this name; search_operations returns the names.'
export const NOTHING_FOUND = 'No operation matches. Use other words.'

const RESULTS_MAX = 20
const WORDS_MAX = 8
const QUERY_LENGTH_MAX = 400
export const QUERY_FAULT = `\`query\` must be a string of at most ${QUERY_LENGTH_MAX} characters.`

const name = { type: 'string', description: 'The name of an operation, as search_operations returns it.' }
const reading = { readOnlyHint: true, destructiveHint: false, idempotentHint: true }

export const SEARCH_DEFINITIONS = [
  {
    name: SEARCH_OPERATIONS,
    title: 'Search operations',
    description: `Finds operations of this API by words in their names, summaries, descriptions and paths. Returns at most ${RESULTS_MAX}, the best first.`,
    inputSchema: {
      type: 'object',
      properties: { query: { type: 'string', description: 'Words to look for, such as: create invoice' } },
      required: ['query'],
      additionalProperties: false,
    },
    annotations: reading,
  },
  {
    name: DESCRIBE_OPERATION,
    title: 'Describe an operation',
    description: 'Returns the definition of an operation with the schema of its arguments.',
    inputSchema: {
      type: 'object',
      properties: { operation: name },
      required: ['operation'],
      additionalProperties: false,
    },
    annotations: reading,
  },
  {
    name: CALL_OPERATION,
    title: 'Call an operation',
    description: 'Calls an operation with arguments that match its schema; see describe_operation.',
    inputSchema: {
      type: 'object',
      properties: { operation: name, arguments: { type: 'object', description: 'The arguments of the operation.' } },
      required: ['operation'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  },
] as const

/** Whether a tool of search mode is answered without a call of an operation. */
export function isSearchTool(tool: unknown): boolean {
  return tool === SEARCH_OPERATIONS || tool === DESCRIBE_OPERATION
}

/** Returns the best operations for the words of a query; null if it is no valid query. */
export function searchOperations(query: unknown, candidates: readonly NamedOperation[]): readonly object[] | null {
  if (typeof query !== 'string' || query.length > QUERY_LENGTH_MAX) return null
  const words = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])].slice(0, WORDS_MAX)
  return candidates
    .map(({ name: tool, operation }, index) => ({ tool, operation, index, score: scoreOf(operation, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, RESULTS_MAX)
    .map(({ tool, operation: { method, path, summary } }) => ({
      ...{ operation: tool, method, path },
      ...(summary !== undefined && { summary }),
    }))
}

/** A word counts twice in what names the operation, and once in its description. */
function scoreOf(
  { operationId, path, summary = '', description = '' }: NamedOperation['operation'],
  words: readonly string[],
): number {
  const title = `${operationId} ${path} ${summary}`.toLowerCase()
  const text = description.toLowerCase()
  let score = 0
  for (const word of words) score += title.includes(word) ? 2 : text.includes(word) ? 1 : 0
  return score
}

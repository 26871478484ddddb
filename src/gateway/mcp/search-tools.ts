/**
 * Search mode: three tools stand for all operations, so that a model does not have to read hundreds of definitions.
 *
 * `search_operations` and `describe_operation` call no operation; `call_operation` is a call of the operation that it names.
 */

import type { Fields } from '../../json/fields.ts'
import type { CallerContext } from '../call/caller-context.ts'
import { callableTools, toolsOf } from './revision-tools.ts'
import { writeText } from './tool-result.ts'

/** Above this number of operations that a caller may call, search mode is the default. */
const TOOLS_MAX = 40
const RESULTS_MAX = 20
const WORDS_MAX = 8
const QUERY_LENGTH_MAX = 400
export const CALL_OPERATION = 'call_operation'

const name = { type: 'string', description: 'The name of an operation, as search_operations returns it.' }
const reading = { readOnlyHint: true, destructiveHint: false, idempotentHint: true }
const DEFINITIONS = [
  {
    name: 'search_operations',
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
    name: 'describe_operation',
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
]

/** The definitions, as the members of a JSON list. */
export const SEARCH_TOOLS = DEFINITIONS.map((definition) => JSON.stringify(definition)).join(',')

export function isSearching(context: CallerContext): boolean {
  const { mcp } = context.revision.plan
  return (mcp?.mode ?? (callableTools(context).length > TOOLS_MAX ? 'search' : 'tools')) === 'search'
}

/** Whether a tool of search mode is answered without a call of an operation. */
export function isSearchTool(tool: unknown): boolean {
  return tool !== CALL_OPERATION && DEFINITIONS.some((definition) => definition.name === tool)
}

/** Returns the members of the result, as JSON without braces. */
export function answerSearch(context: CallerContext, tool: unknown, args: Fields): string {
  return tool === 'search_operations' ? search(context, args['query']) : describe(context, args['operation'])
}

function search(context: CallerContext, query: unknown): string {
  if (typeof query !== 'string' || query.length > QUERY_LENGTH_MAX) {
    return writeText(`\`query\` must be a string of at most ${QUERY_LENGTH_MAX} characters.`, true)
  }
  const words = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])].slice(0, WORDS_MAX)
  const tools = toolsOf(context.revision)
  const found = callableTools(context)
    .map((position) => ({ position, score: scoreOf(context, position, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.position - b.position)
    .slice(0, RESULTS_MAX)
    .map(({ position }) => {
      const { method, path, summary } = context.revision.operations[position]!.plan
      return { operation: tools.nameAt(position), method, path, ...(summary !== undefined && { summary }) }
    })
  return writeText(found.length === 0 ? 'No operation matches. Use other words.' : JSON.stringify(found), false)
}

/** A word counts twice in what names the operation, and once in its description. */
function scoreOf(context: CallerContext, position: number, words: readonly string[]): number {
  const { operationId, path, summary = '', description = '' } = context.revision.operations[position]!.plan
  const title = `${operationId} ${path} ${summary}`.toLowerCase()
  const text = description.toLowerCase()
  let score = 0
  for (const word of words) score += title.includes(word) ? 2 : text.includes(word) ? 1 : 0
  return score
}

function describe(context: CallerContext, operation: unknown): string {
  const tools = toolsOf(context.revision)
  const position = typeof operation === 'string' ? tools.positionOf(operation) : undefined
  if (position === undefined || !callableTools(context).includes(position)) {
    return writeText('There is no operation of this name; search_operations returns the names.', true)
  }
  return writeText(tools.at(position).text, false)
}

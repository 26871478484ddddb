/** Search mode for the operations that a caller may call. */

import type { Fields } from '../../foundation/json/fields.ts'
import {
  NO_SUCH_OPERATION,
  NOTHING_FOUND,
  QUERY_FAULT,
  SEARCH_DEFINITIONS,
  SEARCH_OPERATIONS,
  searchOperations,
} from '../../boundary/mcp/search.ts'
import { writeText } from '../../boundary/mcp/tool-result.ts'
import type { CallerContext } from '../call/caller-context.ts'
import { callableTools, toolsOf } from './revision-tools.ts'

/** Above this number of operations that a caller may call, search mode is the default. */
const TOOLS_MAX = 40

/** The definitions, as the members of a JSON list. */
export const SEARCH_TOOLS = SEARCH_DEFINITIONS.map((definition) => JSON.stringify(definition)).join(',')

export function isSearching(context: CallerContext): boolean {
  const { mcp } = context.revision.plan
  return (mcp?.mode ?? (callableTools(context).length > TOOLS_MAX ? 'search' : 'tools')) === 'search'
}

/** Returns the members of the result, as JSON without braces. */
export function answerSearch(context: CallerContext, tool: unknown, args: Fields): string {
  return tool === SEARCH_OPERATIONS ? search(context, args['query']) : describe(context, args['operation'])
}

function search(context: CallerContext, query: unknown): string {
  const tools = toolsOf(context.revision)
  const { operations } = context.revision
  const candidates = callableTools(context).map((position) => {
    return { name: tools.nameAt(position), operation: operations[position]!.plan }
  })
  const found = searchOperations(query, candidates)
  if (found === null) return writeText(QUERY_FAULT, true)
  return writeText(found.length === 0 ? NOTHING_FOUND : JSON.stringify(found), false)
}

function describe(context: CallerContext, operation: unknown): string {
  const tools = toolsOf(context.revision)
  const position = typeof operation === 'string' ? tools.positionOf(operation) : undefined
  if (position === undefined || !callableTools(context).includes(position)) return writeText(NO_SUCH_OPERATION, true)
  return writeText(tools.at(position).text, false)
}

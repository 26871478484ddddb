/** Answers `tools/list` and `tools/call`: the chosen tools, and three that find and call every other operation. */

import type { ProblemDocument } from '../../../foundation/domain/problem.ts'
import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import {
  CALL_OPERATION,
  isSearchTool,
  NO_SUCH_OPERATION,
  NOTHING_FOUND,
  QUERY_FAULT,
  SEARCH_OPERATIONS,
  searchOperations,
} from '../../../boundary/mcp/search.ts'
import { writeProblem, writeResponse, writeText } from '../../../boundary/mcp/tool-result.ts'
import type { Exchange } from './exchange.ts'
import type { OperationAnswer } from './operation-runner.ts'
import { SEARCH_TOOLS, type PlatformTool, type PlatformTools } from './platform-tools.ts'

/** Why a message cannot be answered; it becomes an error of JSON-RPC with the code for invalid parameters. */
export class InvalidParams extends Error {}

/** The operation that a tool call names, with its arguments; null if it names none. */
export interface NamedCall {
  readonly tool: PlatformTool
  readonly args: unknown
}

const STATUS_ERROR_MIN = 400
const PROBLEM = 'application/problem+json'

export async function listTools({ tools, permitted }: Exchange): Promise<readonly Fields[]> {
  const isPermitted = await permitted()
  const chosen = [...tools.chosen.values()].filter(({ declaration }) => isPermitted(declaration))
  return [...chosen.map(({ definition }) => definition), ...SEARCH_TOOLS]
}

export function findCall(tools: PlatformTools, { name, arguments: args }: Fields): NamedCall | null {
  if (typeof name !== 'string') return null
  const inner = name === CALL_OPERATION ? fieldsOf(args) : null
  const operation = inner?.['operation']
  const tool =
    inner === null ? tools.chosen.get(name) : typeof operation === 'string' ? tools.all.get(operation) : undefined
  return tool === undefined ? null : { tool, args: inner === null ? args : inner['arguments'] }
}

/** Returns the result of a tool call. */
export async function callTool(exchange: Exchange, params: Fields): Promise<Fields> {
  const { name } = params
  if (isSearchTool(name)) return toResult(await search(exchange, name, fieldsOf(params['arguments'])))
  const found = findCall(exchange.tools, params)
  if (found === null && name === CALL_OPERATION) return toResult(writeText(NO_SUCH_OPERATION, true))
  if (found === null) throw new InvalidParams('There is no tool of this name.')
  return toResult(await callOperation(exchange, found))
}

/** Returns the members of the result, as JSON without braces. */
export async function callOperation(exchange: Exchange, { tool, args = {} }: NamedCall): Promise<string> {
  if (fieldsOf(args) !== args) throw new InvalidParams('`arguments` must be an object.')
  const answer = await exchange.call(tool, args as Fields)
  return writeAnswer(tool, answer)
}

/** Returns the problem document of a refused call. */
export function problemOf({ status, contentType = '', body }: OperationAnswer): ProblemDocument | null {
  if (status < STATUS_ERROR_MIN || !contentType.startsWith(PROBLEM)) return null
  return JSON.parse(body.toString()) as ProblemDocument
}

function writeAnswer({ tool, isChangeable }: PlatformTool, answer: OperationAnswer): string {
  const problem = problemOf(answer)
  if (problem !== null) return writeProblem(problem, answer.retryAfter)
  // A model does not see headers.
  const hasVersion = isChangeable && answer.etag !== null
  const note = hasVersion ? `ETag: ${answer.etag} (send it as If-Match to change this version only)` : null
  return writeResponse(tool, answer.target, { ...answer, note })
}

async function search({ tools, permitted }: Exchange, name: unknown, args: Fields): Promise<string> {
  const isPermitted = await permitted()
  if (name !== SEARCH_OPERATIONS) {
    const { operation } = args
    const tool = typeof operation === 'string' ? tools.all.get(operation) : undefined
    const isFound = tool !== undefined && isPermitted(tool.declaration)
    return isFound ? writeText(tool.tool.text, false) : writeText(NO_SUCH_OPERATION, true)
  }
  const candidates = [...tools.all.values()].filter(({ declaration }) => isPermitted(declaration))
  const found = searchOperations(args['query'], candidates)
  if (found === null) return writeText(QUERY_FAULT, true)
  return writeText(found.length === 0 ? NOTHING_FOUND : JSON.stringify(found), false)
}

/** `members` are those of a result, as JSON without braces. */
function toResult(members: string): Fields {
  return fieldsOf(JSON.parse(`{${members}}`))
}

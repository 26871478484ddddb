/**
 * A tool call as an ordinary call of its operation: authorisation, limits, validation, forwarding and record are those of any
 * call. Only its request is made from the arguments, and its response becomes the result of the tool.
 */

import type { Fields } from '../../json/fields.ts'
import type { CallerContext } from '../call/caller-context.ts'
import type { CompiledRevision } from '../call/revision.ts'
import type { ResponseReceiver, RoutedCall } from '../call/routed-call.ts'
import type { RequestHeaders } from '../headers/upstream-request.ts'
import { scanTarget } from '../routing/path.ts'
import { invalid } from '../validation/validation-failure.ts'
import type { McpCall } from './mcp-call.ts'
import { INVALID_PARAMS, type MessageFault, type MessageId } from '../../mcp/message.ts'
import type { ProtocolRevision } from './revision-of-message.ts'
import { toolsOf } from './revision-tools.ts'
import { toToolRequest, type ToolRequest } from '../../mcp/tool-request.ts'
import { writeProblem, writeResponse } from '../../mcp/tool-result.ts'
import type { Tool } from '../../mcp/tool.ts'
import { writeAnswer } from './write-answer.ts'

export interface ToolCall {
  readonly call: McpCall
  readonly headers: RequestHeaders
  readonly context: CallerContext
  readonly id: MessageId
  readonly protocol: ProtocolRevision
  readonly name: unknown
  readonly args: unknown
}

/** Runs the stages of a call from authorisation on. */
export type AdmitCall = (routed: RoutedCall, context: CallerContext) => void

const RESPONSE_BYTES_MAX = 1024 * 1024
const NOT_THIS_OPERATION =
  'The arguments do not lead to this operation; a value in the path is empty, or has a slash or dots.'

/** Returns a fault if there is no such tool. */
export function startToolCall(admit: AdmitCall, toolCall: ToolCall): MessageFault | null {
  const { call, context, id, protocol, name, args = {} } = toolCall
  const { revision } = context
  const tools = toolsOf(revision)
  const position = typeof name === 'string' ? tools.positionOf(name) : undefined
  if (position === undefined) return { status: 200, id, code: INVALID_PARAMS, text: 'There is no tool of this name.' }
  if (typeof args !== 'object' || args === null || Array.isArray(args)) {
    return { status: 200, id, code: INVALID_PARAMS, text: '`arguments` must be an object.' }
  }
  const tool = tools.at(position)
  call.writeRefusal = (problem, retryAfter) => writeAnswer(id, writeProblem(problem, retryAfter), revision, protocol)
  admit(toRoutedCall(toolCall, revision, position, tool, args as Fields), context)
  return null
}

function toRoutedCall(
  { call, headers, id, protocol }: ToolCall,
  revision: CompiledRevision,
  position: number,
  tool: Tool,
  args: Fields,
): RoutedCall {
  const operation = revision.operations[position]!
  const { method } = operation.plan
  const written = toToolRequest(operation.plan, tool, args)
  const faults = 'faults' in written ? written.faults : null
  const request: ToolRequest =
    'faults' in written ? { target: '/', headers: {}, forward: [], contentType: undefined, body: null } : written
  const { target, body } = request
  const queryAt = scanTarget(target)
  const match = queryAt < 0 ? null : revision.routes.find(method, target, 0, queryAt)
  const isMatch = match !== null && 'operation' in match && match.operation === position
  const receiver: ResponseReceiver = {
    bytesMax: RESPONSE_BYTES_MAX,
    receive: (response) =>
      call.answer(response.status, writeAnswer(id, writeResponse(tool, target, response), revision, protocol), 200),
  }
  return {
    call,
    revision,
    operation,
    match: isMatch ? match : { operation: position, parameters: [] },
    request: { method, url: target, headers: request.headers, headersDistinct: distinct(request) },
    headers: toHeaders(headers, request),
    target,
    queryAt,
    body,
    receiver,
    fault:
      faults !== null
        ? invalid('The arguments do not match the schema of the tool.', faults)
        : isMatch
          ? null
          : invalid(NOT_THIS_OPERATION),
    callerContext: null,
  }
}

function distinct({ headers }: ToolRequest): Record<string, string[]> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [String(value)]]))
}

/** Returns the headers for the backend: those of the arguments instead of those of the message. */
function toHeaders(sent: RequestHeaders, { headers, forward, contentType, body }: ToolRequest): RequestHeaders {
  const own: string[] = []
  if (headers['accept'] === undefined) own.push('Accept', 'application/json, */*;q=0.5')
  if (headers['accept-encoding'] === undefined) own.push('Accept-Encoding', 'identity')
  return {
    ...sent,
    contentType,
    contentLength: body?.length ?? 0,
    isChunked: false,
    hopByHop: null,
    overrides: null,
    forward: [...forward, ...own],
  }
}

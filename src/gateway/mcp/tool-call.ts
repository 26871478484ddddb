/**
 * A tool call as an ordinary call of its operation: authorisation, limits, validation, forwarding and record are those of any
 * call. Only its request is made from the arguments, and its response becomes the result of the tool.
 */

import type { Fields } from '../../foundation/json/fields.ts'
import type { CallerContext } from '../call/caller-context.ts'
import type { CompiledOperation, CompiledRevision } from '../call/revision.ts'
import type { ReceivedResponse, ResponseReceiver, RoutedCall } from '../call/routed-call.ts'
import type { RequestHeaders } from '../headers/upstream-request.ts'
import type { OperationRequest } from '../routing/operation-request.ts'
import { scanTarget } from '../routing/path.ts'
import type { RouteMatch } from '../routing/route-table.ts'
import { invalid, type ValidationFailure } from '../validation/validation-failure.ts'
import type { McpCall } from './mcp-call.ts'
import { INVALID_PARAMS, type MessageFault, type MessageId } from '../../boundary/mcp/message.ts'
import type { ProtocolRevision } from '../../boundary/mcp/revision-of-message.ts'
import { toolsOf } from './revision-tools.ts'
import { toServerInfo } from './server-info.ts'
import { toToolRequest, type ToolRequest } from '../../boundary/mcp/tool-request.ts'
import { writeProblem, writeResponse } from '../../boundary/mcp/tool-result.ts'
import { writeAnswer } from '../../boundary/mcp/write-answer.ts'

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
const NO_REQUEST: ToolRequest = { target: '/', headers: {}, forward: [], contentType: undefined, body: null }
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
  call.writeRefusal = (problem, retryAfter) =>
    writeAnswer(id, writeProblem(problem, retryAfter), toServerInfo(revision), protocol)
  admit(new RoutedToolCall(toolCall, position, args as Fields), context)
  return null
}

/** A request as the gateway has written it, or why it could not be written. */
interface Written {
  readonly request: OperationRequest
  readonly target: string
  readonly body: Buffer | null
  readonly queryAt: number
  readonly match: RouteMatch
  readonly headers: RequestHeaders
  readonly fault: ValidationFailure | null
}

/** Writes the request when the first stage after the limits reads it, so that a refused call costs less. */
class RoutedToolCall implements RoutedCall {
  readonly call: McpCall
  readonly revision: CompiledRevision
  readonly operation: CompiledOperation
  readonly receiver: ResponseReceiver
  callerContext: CallerContext | null = null
  readonly #sent: RequestHeaders
  readonly #args: Fields
  #written: Written | null = null

  constructor({ call, headers, context: { revision }, id, protocol }: ToolCall, position: number, args: Fields) {
    this.call = call
    this.revision = revision
    this.operation = revision.operations[position]!
    this.#sent = headers
    this.#args = args
    const receive = (response: ReceivedResponse): void => {
      const result = writeResponse(toolsOf(revision).at(position), this.target, response)
      call.answer(response.status, writeAnswer(id, result, toServerInfo(revision), protocol), 200)
    }
    this.receiver = { bytesMax: RESPONSE_BYTES_MAX, receive }
  }

  get match(): RouteMatch {
    return this.#write().match
  }

  get request(): OperationRequest {
    return this.#write().request
  }

  get headers(): RequestHeaders {
    return this.#write().headers
  }

  get credentials(): RequestHeaders {
    return this.#sent
  }

  get target(): string {
    return this.#write().target
  }

  get queryAt(): number {
    return this.#write().queryAt
  }

  get body(): Buffer | null {
    return this.#write().body
  }

  get fault(): ValidationFailure | null {
    return this.#write().fault
  }

  #write(): Written {
    return (this.#written ??= write(this.revision, this.operation, this.#sent, this.#args))
  }
}

function write(
  revision: CompiledRevision,
  { plan, position }: CompiledOperation,
  sent: RequestHeaders,
  args: Fields,
): Written {
  const written = toToolRequest(plan, toolsOf(revision).at(position), args)
  const request = 'faults' in written ? NO_REQUEST : written
  const { target, body } = request
  const queryAt = scanTarget(target)
  const found = queryAt < 0 ? null : revision.routes.find(plan.method, target, 0, queryAt)
  const match = found !== null && 'operation' in found && found.operation === position ? found : null
  return {
    request: { method: plan.method, url: target, rawHeaders: Object.entries(request.headers).flat() },
    target,
    body,
    queryAt,
    match: match ?? { operation: position, parameters: [] },
    headers: toHeaders(sent, request),
    fault:
      'faults' in written
        ? invalid('The arguments do not match the schema of the tool.', written.faults)
        : match === null
          ? invalid(NOT_THIS_OPERATION)
          : null,
  }
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
    forwardLines: null,
  }
}

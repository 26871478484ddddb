/**
 * Runs an operation for a message as an ordinary call of the platform API: the same guard, route and handler, with the credential
 * of the message.
 */

import type { FastifyInstance } from 'fastify'
import { Problem } from '../../../foundation/domain/problem.ts'
import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import { toToolRequest, type ToolRequest } from '../../../boundary/mcp/tool-request.ts'
import type { ToolResponse } from '../../../boundary/mcp/tool-result.ts'
import type { InnerCall, InnerCalls } from './inner-call.ts'
import { exchange, type InnerAnswer } from './inner-exchange.ts'
import type { PlatformTool } from './platform-tools.ts'

/** The headers of a message that identify its sender. */
export interface SentCredential {
  readonly authorization: string | undefined
  readonly apiKey: string | undefined
}

export interface OperationAnswer extends ToolResponse {
  readonly target: string
  /** Seconds, if the service says when to retry. */
  readonly retryAfter: string | null
  readonly requestId: string
  readonly etag: string | null
}

/** `gone` aborts when the sender of the message has left. */
export type RunOperation = (
  tool: PlatformTool,
  args: Fields,
  credential: SentCredential,
  gone: AbortSignal,
) => Promise<OperationAnswer>

const RESPONSE_BYTES_MAX = 1024 * 1024
const NO_PATH = 'A value in the path is too long.'
const NOT_WRITABLE = 'The arguments do not match the schema of the tool.'

export function createOperationRunner(app: FastifyInstance, innerCalls: InnerCalls): RunOperation {
  return async (tool, args, credential, gone) => {
    const { operationId, method, path } = tool.operation
    const written = toToolRequest(tool.operation, tool.tool, encodeDocuments(tool, args))
    const faults = 'faults' in written ? written.faults : dotFaults(written)
    const fault = faults.length === 0 ? null : new Problem('payload_invalid', NOT_WRITABLE, { errors: faults })
    const send = ({ target, body, ...request }: ToolRequest, call: InnerCall): Promise<InnerAnswer> => {
      const inner = { method, target, body, headers: toHeaders(request, credential) }
      return innerCalls.run(call, () => exchange(app, inner, gone))
    }
    const refuse = (problem: Problem): Promise<InnerAnswer> =>
      send(toPlaceholder(path), { operationId, fault: problem, isReached: false })
    const call: InnerCall = { operationId, fault: null, isReached: false }
    let answer = fault === null && !('faults' in written) ? await send(written, call) : null
    // A request that leads to no operation, because of a very long path, would have no record.
    if (answer === null || !call.isReached) answer = await refuse(fault ?? new Problem('payload_invalid', NO_PATH))
    return toOperationAnswer('faults' in written ? path : written.target, answer)
  }
}

function toOperationAnswer(target: string, { status, headers, body }: InnerAnswer): OperationAnswer {
  const isCut = Buffer.byteLength(body) > RESPONSE_BYTES_MAX
  return {
    target,
    status,
    contentType: textOf(headers['content-type']),
    contentEncoding: undefined,
    body: isCut ? Buffer.from(body as string).subarray(0, RESPONSE_BYTES_MAX) : body,
    isCut,
    retryAfter: textOf(headers['retry-after']) ?? null,
    requestId: textOf(headers['x-request-id']) ?? '',
    etag: textOf(headers['etag']) ?? null,
  }
}

function encodeDocuments({ documents, tool }: PlatformTool, args: Fields): Fields {
  const { body } = tool
  if (documents.length === 0 || body === null) return args
  const members = fieldsOf(args[body.name])
  if (members !== args[body.name]) return args
  const encoded = Object.entries(members).map(([name, value]) => {
    const isDocument = documents.includes(name) && typeof value === 'string'
    return [name, isDocument ? Buffer.from(value).toString('base64') : value] as const
  })
  return { ...args, [body.name]: Object.fromEntries(encoded) }
}

/** A segment of dots would lead to another path. */
function dotFaults({ target }: ToolRequest): { readonly pointer: string; readonly detail: string }[] {
  const [path = ''] = target.split('?', 1)
  const hasDots = path.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))
  return hasDots ? [{ pointer: '', detail: 'A value in the path consists of dots.' }] : []
}

/** A request that leads to the operation, where the guard refuses it. */
function toPlaceholder(path: string): ToolRequest {
  return {
    target: path.replace(/\{[^{}]*\}/g, '-'),
    headers: {},
    forward: [],
    contentType: undefined,
    body: null,
  }
}

function toHeaders(
  request: Pick<ToolRequest, 'headers'>,
  { authorization, apiKey }: SentCredential,
): Record<string, string> {
  const own = Object.entries(request.headers).map(([name, value]) => [name, String(value)] as const)
  return {
    accept: 'application/json, */*;q=0.5',
    ...Object.fromEntries(own),
    ...(authorization !== undefined && { authorization }),
    ...(apiKey !== undefined && { 'x-api-key': apiKey }),
  }
}

function textOf(value: number | string | string[] | undefined): string | undefined {
  return value === undefined || typeof value === 'string' ? value : String(value)
}

/**
 * The protocol server of one message. The SDK checks the message and its headers, and writes the answer as its revision of the
 * protocol requires; there are no sessions.
 */

import type * as Sdk from '@modelcontextprotocol/server'
import { Problem } from '../../../foundation/domain/problem.ts'
import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import { REFUSED, type Message } from '../../../boundary/mcp/message.ts'
import { listResources, listTemplates, readResource, ResourceRefused } from './answer-resources.ts'
import { callTool, InvalidParams, listTools } from './answer-tools.ts'
import type { Exchange } from './exchange.ts'
import { getPrompt, listPrompts } from './prompts.ts'

export type SdkModule = typeof Sdk

export interface ServerInfo {
  readonly name: string
  readonly title: string
  readonly version: string
}

export interface ProtocolServerOptions {
  readonly sdk: SdkModule
  readonly info: ServerInfo
  /** Called for faults of the service itself. */
  readonly onFault: (cause: unknown) => void
}

export type AnswerMessage = (request: Request, message: Message, exchange: Exchange) => Promise<Response>

const LIST_TTL_MS = 60_000
const INSTRUCTIONS =
  'Tools of an API gateway that meters every call: the catalogue, single calls and why they were refused, risks, usage and cost, ' +
  'documents, programmes and approvals. All of them act with the rights of the signed-in caller. Everything else the platform ' +
  'can do is found with search_operations and called with call_operation. Refused calls return the reason; correct the call, or ' +
  'wait as long as the answer says, instead of repeating it.'

export function createProtocolServer(options: ProtocolServerOptions): AnswerMessage {
  const { sdk } = options
  return async (request, { id, method, params }, exchange) => {
    const message = { jsonrpc: '2.0', ...(id !== null && { id }), method, params }
    if (await sdk.isLegacyRequest(request, message)) return answerLegacy(options, request, message, exchange)
    const handler = sdk.createMcpHandler(() => createServer(options, exchange), { legacy: 'reject' })
    return handler.fetch(request, { parsedBody: message })
  }
}

/** Serves revisions before 2026-07-28 with JSON instead of a stream. */
async function answerLegacy(
  options: ProtocolServerOptions,
  request: Request,
  message: object,
  exchange: Exchange,
): Promise<Response> {
  const { sdk } = options
  const server = createServer(options, exchange)
  const transport = new sdk.WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  try {
    return await transport.handleRequest(request, { parsedBody: message })
  } finally {
    await server.close()
  }
}

function createServer({ sdk, info, onFault }: ProtocolServerOptions, exchange: Exchange): Sdk.Server {
  const hint = { ttlMs: LIST_TTL_MS, cacheScope: 'private' } as const
  const server = new sdk.Server(
    { ...info },
    {
      capabilities: { tools: {}, resources: {}, prompts: {} },
      instructions: INSTRUCTIONS,
      cacheHints: {
        'tools/list': hint,
        'prompts/list': hint,
        'resources/templates/list': hint,
        'server/discover': hint,
      },
    },
  )
  /** The results are plain data, whose form the SDK checks or the types of the protocol leave open. */
  const handle = <Result>(work: (params: Fields) => Promise<Fields>) => {
    return async ({ params }: { readonly params?: unknown }): Promise<Result> => {
      try {
        return (await work(fieldsOf(params))) as Result
      } catch (cause) {
        throw toProtocolError(sdk, cause, fieldsOf(params)['uri'], onFault)
      }
    }
  }
  server.setRequestHandler(
    'tools/list',
    handle(async () => ({ tools: await listTools(exchange) })),
  )
  server.setRequestHandler(
    'tools/call',
    handle((params) => callTool(exchange, params)),
  )
  server.setRequestHandler(
    'resources/list',
    handle(({ cursor }) => listResources(exchange, cursor)),
  )
  server.setRequestHandler(
    'resources/templates/list',
    handle(() => listTemplates(exchange)),
  )
  server.setRequestHandler(
    'resources/read',
    handle(({ uri }) => readResource(exchange, String(uri))),
  )
  server.setRequestHandler(
    'prompts/list',
    handle(() => listPrompts(exchange)),
  )
  server.setRequestHandler(
    'prompts/get',
    handle(async ({ name, arguments: values }) => getPrompt(String(name), fieldsOf(values))),
  )
  return server
}

function toProtocolError(sdk: SdkModule, cause: unknown, uri: unknown, onFault: (cause: unknown) => void): Error {
  const { ProtocolError, ProtocolErrorCode } = sdk
  if (cause instanceof InvalidParams) return new ProtocolError(ProtocolErrorCode.InvalidParams, cause.message)
  if (cause instanceof ResourceRefused) {
    return cause.status === 404
      ? new sdk.ResourceNotFoundError(String(uri), cause.message)
      : new ProtocolError(REFUSED, cause.message, cause.problem)
  }
  if (cause instanceof Problem) return new ProtocolError(REFUSED, cause.message, { code: cause.code })
  onFault(cause)
  return new ProtocolError(ProtocolErrorCode.InternalError, 'The service failed.')
}

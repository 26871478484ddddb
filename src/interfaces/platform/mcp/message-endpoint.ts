/**
 * The MCP endpoint of the platform, `{base_url}/mcp`: one message per request, without a session.
 *
 * A message that calls operations leaves the records of these calls. Any other message needs a credential, is recorded without
 * units, and is limited per credential. Messages are parsed once, with bounds, before the SDK receives them.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Entitlements } from '../../../control/access/people/entitlements.ts'
import { Problem } from '../../../foundation/domain/problem.ts'
import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import {
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
  PARSE_ERROR,
  readMessage,
  writeError,
  type Message,
  type MessageFault,
} from '../../../boundary/mcp/message.ts'
import type { Caller } from '../../../boundary/plan/caller.ts'
import { MCP_PATH } from '../../../boundary/plan/mcp-exposure.ts'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import type { Log } from '../../../foundation/runtime/log.ts'
import { isResource } from './answer-resources.ts'
import { findCall } from './answer-tools.ts'
import { whenCallerGone } from '../caller-gone.ts'
import type { Exchange } from './exchange.ts'
import type { RunOperation } from './operation-runner.ts'
import { findInitializeFault, findParamsFault } from './params-fault.ts'
import { findPermitted } from './permitted-operations.ts'
import type { PlatformTool, PlatformTools } from './platform-tools.ts'
import { answerPlainCall, readPlainCall } from './plain-call.ts'
import { createProtocolServer, type AnswerMessage, type ServerInfo } from './protocol-server.ts'

/** Limits the messages of each credential that call no operation. */
export interface MessageLimit {
  /** Counts a message and returns 0, or the seconds after which the next one is accepted. */
  take(credential: string, nowMs: number): number
}

export interface MessageEndpointOptions {
  readonly run: RunOperation
  /** Returns the tools; compiled at the first message. */
  readonly tools: () => PlatformTools
  readonly entitlements: Pick<Entitlements, 'ofUser'>
  readonly limit: MessageLimit
  readonly baseUrl: () => string
  readonly version: string
  readonly clock: Pick<Clock, 'nowMs'>
  readonly log: Log
}

/** Pages of the caller's own machine, such as development tools. */
const LOOPBACK = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/
const MESSAGE_BYTES_MAX = 2 * 1024 * 1024
/** Headers that the SDK compares with the message. */
const PROTOCOL_HEADERS = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'] as const
const OTHER_METHODS = ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const STATELESS = '2026-07-28'
const STREAM = 'subscriptions/listen'

export function serveMessages(app: FastifyInstance, options: MessageEndpointOptions): void {
  const answer = createAnswer(options)
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_, body, done) => done(null, body))
    scope.addHook('onRequest', async (request) => refuseOtherSites(options, request))
    const route = { url: MCP_PATH, config: { messages: MCP_PATH } }
    scope.route({ ...route, method: 'POST', bodyLimit: MESSAGE_BYTES_MAX, handler: answer })
    scope.route({ ...route, method: OTHER_METHODS, handler: refuseMethod })
  })
}

/** Against DNS rebinding. */
async function refuseOtherSites({ baseUrl }: MessageEndpointOptions, request: FastifyRequest): Promise<void> {
  const { origin } = request.headers
  if (origin === undefined || origin === new URL(baseUrl()).origin || LOOPBACK.test(origin)) return
  throw refusal(request, new Problem('operation_forbidden', 'The Origin header names another site.'))
}

async function refuseMethod(request: FastifyRequest, reply: FastifyReply): Promise<never> {
  void reply.header('Allow', 'POST')
  const problem = new Problem('method_not_allowed', 'This path supports POST.')
  // Clients ask for a stream of messages and continue without one; that is no refused call.
  throw request.method === 'GET' ? problem : refusal(request, problem)
}

function refusal(request: FastifyRequest, problem: Problem): Problem {
  request.noteRefusal(problem.code, problem.message)
  return problem
}

type Answer = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
type SdkAnswer = (
  request: FastifyRequest,
  reply: FastifyReply,
  message: Message,
  exchange: Exchange,
) => Promise<string | undefined>

function createAnswer(options: MessageEndpointOptions): Answer {
  const { tools, log } = options
  const onFault = (cause: unknown): void =>
    log.error({ err: cause }, 'MCP message failed; it is answered with an internal error')
  const info = { name: 'tollgate', title: 'Tollgate', version: options.version }
  const server = JSON.stringify(info)
  const answerBySdk = createSdkAnswer(options, info, onFault)

  return async (request, reply) => {
    const { body } = request
    const message = readMessage(Buffer.isBuffer(body) ? body : Buffer.alloc(0))
    if ('code' in message) return refuseMessage(options, request, reply, message)
    const fault = findFault(message, request)
    if (fault !== null) return refuseMessage(options, request, reply, fault)
    const isCall = callsOperation(tools(), message)
    if (!isCall) takeMessage(options, request, reply)
    const exchange = openExchange(options, request, whenCallerGone(reply))
    // The result may contain a secret.
    void reply.header('Cache-Control', 'no-store')
    const plain = readPlainCall(tools(), message, request.headers)
    const answer =
      plain === null
        ? await answerBySdk(request, reply, message, exchange)
        : await answerPlainCall(exchange, plain, server, onFault)
    if (exchange.calls.length > 0) leaveToCalls(request, reply, exchange.calls)
    else if (isCall) takeMessage(options, request, reply)
    if (plain !== null) void reply.type('application/json')
    return reply.send(answer)
  }
}

/** Answers with the status and the headers that the SDK has chosen. */
function createSdkAnswer(
  options: MessageEndpointOptions,
  info: ServerInfo,
  onFault: (cause: unknown) => void,
): SdkAnswer {
  let server: Promise<AnswerMessage> | null = null
  // The SDK takes 30 MB of memory, which a service without agents saves.
  const load = async (): Promise<AnswerMessage> =>
    createProtocolServer({ sdk: await import('@modelcontextprotocol/server'), info, onFault })

  return async (request, reply, message, exchange) => {
    const response = await (await (server ??= load()))(toWebRequest(options, request), message, exchange)
    const text = await response.text()
    if (response.status >= 500) onFault(new Error(`the protocol server answered with ${response.status}`))
    noteInvalid(request, response.status, text)
    for (const name of ['content-type', 'allow']) {
      const value = response.headers.get(name)
      if (value !== null) void reply.header(name, value)
    }
    void reply.code(response.status)
    return text === '' ? undefined : text
  }
}

/** Whether the message certainly leads to a call of an operation, which then has limits of its own. */
function callsOperation(tools: PlatformTools, { id, method, params }: Message): boolean {
  if (id === null) return false
  if (method === 'tools/call') return findCall(tools, params) !== null
  return method === 'resources/read' && isResource(params['uri'])
}

interface OpenExchange extends Exchange {
  /** The ids of the calls of operations so far. */
  readonly calls: readonly string[]
}

function openExchange(
  { run, tools, entitlements }: MessageEndpointOptions,
  request: FastifyRequest,
  gone: AbortSignal,
): OpenExchange {
  const caller = callerOf(request)
  const { authorization } = request.headers
  const apiKey = request.headers['x-api-key']
  const credential = { authorization, apiKey: Array.isArray(apiKey) ? apiKey.join() : apiKey }
  const calls: string[] = []
  return {
    caller,
    calls,
    tools: tools(),
    permitted: () => findPermitted(entitlements, caller),
    async call(tool: PlatformTool, args: Fields) {
      const answer = await run(tool, args, credential, gone)
      calls.push(answer.requestId)
      return answer
    },
  }
}

/** The id in the answer is that of the last call, under which its record is found. */
function leaveToCalls(request: FastifyRequest, reply: FastifyReply, calls: readonly string[]): void {
  request.skipRecord()
  void reply.header('X-Request-Id', calls.at(-1) ?? request.id)
}

/** Counts a message that calls no operation; throws `Problem('rate_limited')` above the limit. */
function takeMessage({ limit, clock }: MessageEndpointOptions, request: FastifyRequest, reply: FastifyReply): void {
  const { grant, person } = callerOf(request)
  // People who use the same client have limits of their own.
  const credential = `${grant.credential === '' ? grant.subscription : grant.credential} ${person}`
  const waitSeconds = limit.take(credential, clock.nowMs())
  if (waitSeconds === 0) return
  void reply.header('Retry-After', String(waitSeconds))
  const detail = `Too many messages that call no operation. Retry after ${waitSeconds} s.`
  throw refusal(request, new Problem('rate_limited', detail))
}

function refuseMessage(
  options: MessageEndpointOptions,
  request: FastifyRequest,
  reply: FastifyReply,
  fault: MessageFault,
): FastifyReply {
  takeMessage(options, request, reply)
  if (isInvalid(fault.code)) request.noteRefusal('payload_invalid', fault.text)
  return reply.code(fault.status).type('application/json').send(writeError(fault))
}

function findFault(message: Message, { headers }: FastifyRequest): MessageFault | null {
  if (message.method === STREAM) return noStreams(message)
  if (message.method !== 'initialize') return findParamsFault(message)
  // The stateless revision does not have the method, whatever its parameters are.
  return headers['mcp-protocol-version'] === STATELESS ? null : findInitializeFault(message)
}

function noStreams({ id }: Message): MessageFault {
  return { status: 404, id, code: METHOD_NOT_FOUND, text: 'The service has no streams of messages.' }
}

/** A message that no client sends by mistake counts as an invalid payload, as at the gateway. */
function noteInvalid(request: FastifyRequest, status: number, text: string): void {
  if (status !== 400 || text === '') return
  const { code, message } = fieldsOf(fieldsOf(JSON.parse(text))['error'])
  if (isInvalid(code)) request.noteRefusal('payload_invalid', String(message))
}

function isInvalid(code: unknown): boolean {
  return code === PARSE_ERROR || code === INVALID_REQUEST
}

function toWebRequest({ baseUrl }: MessageEndpointOptions, { headers }: FastifyRequest): Request {
  const sent = PROTOCOL_HEADERS.map((name) => [name, headers[name]] as const)
  const kept = sent.filter((entry): entry is [(typeof entry)[0], string] => typeof entry[1] === 'string')
  return new Request(`${baseUrl()}${MCP_PATH}`, { method: 'POST', headers: Object.fromEntries(kept) })
}

function callerOf({ caller }: FastifyRequest): Caller {
  if (caller === null) throw new Error('a message arrived without a caller')
  return caller
}

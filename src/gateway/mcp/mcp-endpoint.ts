/**
 * The MCP endpoint of an API: reads one message per request, without a session.
 *
 * A tool call becomes a call of its operation (`tool-call.ts`). Every other message is answered here; it needs a credential, is
 * recorded without units, and is limited per credential. As `handle-call.ts`, each method is a stage that ends by calling the
 * next one or by refusing.
 */

import { parseMediaType } from '../../foundation/domain/media-type.ts'
import type { Caller } from '../../boundary/plan/caller.ts'
import { fieldsOf } from '../../foundation/json/fields.ts'
import { MCP_PATH } from '../../boundary/plan/mcp-exposure.ts'
import {
  INVALID_REQUEST,
  PARSE_ERROR,
  readMessage,
  writeError,
  type Message,
  type MessageFault,
  type MessageId,
} from '../../boundary/mcp/message.ts'
import { CALL_OPERATION, isSearchTool } from '../../boundary/mcp/search.ts'
import type { Authenticator, Refusal } from '../authentication/authenticate.ts'
import { authorise } from '../authentication/authorise.ts'
import { toAttribution } from '../call/call-attribution.ts'
import { findCertificateFault } from '../call/certificate-check.ts'
import { attributionOf, type CallerContext } from '../call/caller-context.ts'
import type { CallerContexts } from '../call/caller-contexts.ts'
import type { CompiledRevision } from '../call/revision.ts'
import { refuseSlowBody, refuseStale, refuseTwoCredentials, refuseUnavailable } from '../call/routed-call.ts'
import type { BodyBuffers, BodyReader } from '../forwarding/body-buffers.ts'
import type { LoopDetection } from '../headers/loop-detection.ts'
import type { RequestHeaders } from '../headers/upstream-request.ts'
import { REPEATED_CONTENT_TYPE } from '../validation/validation-failure.ts'
import type { McpCall } from './mcp-call.ts'
import type { MessageLimit } from './message-limit.ts'
import { answerMessage } from './answer-message.ts'
import { readRevision, type ProtocolRevision } from '../../boundary/mcp/revision-of-message.ts'
import { isSearching } from './search-tools.ts'
import { startToolCall, type AdmitCall } from './tool-call.ts'

export interface McpEndpointOptions {
  readonly authenticator: Pick<Authenticator, 'authenticate' | 'noteUse'>
  readonly callerContexts: Pick<CallerContexts, 'of'>
  readonly bodies: BodyBuffers
  readonly loops: Pick<LoopDetection, 'isLoop'>
  readonly limit: MessageLimit
  readonly admit: AdmitCall
  /** Origin of the gateway's own address; requests of pages from elsewhere are refused, against DNS rebinding. */
  readonly origin: string
  readonly nowMs: () => number
  /** Whether this process has lost the registry for too long to serve calls, at a time of `performance.now()`. */
  readonly isStaleAt: (monotonicMs: number) => boolean
  readonly isAccepting: () => boolean
}

/** A message with its sender. */
interface Exchange {
  readonly call: McpCall
  readonly headers: RequestHeaders
  readonly revision: CompiledRevision
  readonly context: CallerContext
}

/** Pages of the caller's own machine, such as development tools. */
const LOOPBACK = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/
const MESSAGE_BYTES_MAX = 2 * 1024 * 1024
const IDENTITY = 'identity'

export function isMcpTarget(target: string, from: number, queryAt: number): boolean {
  return queryAt - from === MCP_PATH.length && target.startsWith(MCP_PATH, from)
}

export class McpEndpoint {
  readonly #options: McpEndpointOptions

  constructor(options: McpEndpointOptions) {
    this.#options = options
  }

  /** `refusal`: of the credential, if it was verified already. */
  handle(call: McpCall, headers: RequestHeaders, revision: CompiledRevision, refusal: Refusal | null): void {
    const { plan } = revision
    const { origin, loops, isAccepting } = this.#options
    call.attribution = revision.unroutedMcp
    call.apiLines = revision.apiLines
    call.readBytesPerSecondMin = revision.readBytesPerSecondMin
    if (plan.state === 'Retired') return call.refuse('api_retired', `${plan.api} is retired.`)
    if (headers.isAmbiguous) return refuseTwoCredentials(call)
    if (loops.isLoop(headers)) {
      return call.refuse('loop_detected', 'Via or CDN-Loop shows that the call has passed through this gateway before.')
    }
    const sentOrigin = call.request.headers.origin
    if (sentOrigin !== undefined && sentOrigin !== origin && !LOOPBACK.test(sentOrigin)) {
      return call.refuse('operation_forbidden', 'The Origin header names another site.', { stage: 'route' })
    }
    if (!isAccepting()) return refuseUnavailable(call, 'The gateway cannot record calls at the moment.')
    this.#authenticate(call, headers, revision, refusal)
  }

  #authenticate(call: McpCall, headers: RequestHeaders, revision: CompiledRevision, refusal: Refusal | null): void {
    const { authorization, apiKey } = headers
    const challenge = revision.mcpChallenges.credential_missing
    if (authorization === undefined && apiKey === undefined) {
      return call.refuse('credential_missing', 'Send a bearer token in Authorization, or a key in x-api-key.', {
        headers: ['WWW-Authenticate', challenge],
      })
    }
    const result = refusal ?? this.#options.authenticator.authenticate(authorization, apiKey, revision.plan.api)
    if (result instanceof Promise) resume(call, result, (late) => this.#findContext(call, headers, revision, late))
    else this.#findContext(call, headers, revision, result)
  }

  #findContext(call: McpCall, headers: RequestHeaders, revision: CompiledRevision, result: Caller | Refusal): void {
    if ('code' in result) return refuseCredential(call, revision, result)
    const context = this.#options.callerContexts.of(result, revision)
    const read = (found: CallerContext): void => this.#read({ call, headers, revision, context: found })
    if (context instanceof Promise) resume(call, context, read)
    else read(context)
  }

  #read(exchange: Exchange): void {
    const { call, headers, revision, context } = exchange
    call.attribution = attributionOf(context, revision.operations.length, 'mcp')
    if (authorise([], context.caller, revision) !== null) {
      return call.refuse('subscription_required', 'The credential has no subscription to this API.')
    }
    if (this.#lacksCertificate(exchange)) return
    if (call.request.method === 'GET') return call.declineStream()
    if (call.request.method !== 'POST') {
      return call.refuse('method_not_allowed', 'This path accepts POST.', { headers: ['Allow', 'POST'] })
    }
    const { contentType = '', contentLength } = headers
    if (headers.repeatsContentType) return call.refuse('payload_invalid', REPEATED_CONTENT_TYPE.detail)
    if (parseMediaType(contentType)?.type !== 'application/json') {
      return call.refuse('media_type_unsupported', 'The endpoint accepts application/json.')
    }
    // An intermediary that decodes the body would read another message.
    const encoding = call.request.headers['content-encoding'] ?? IDENTITY
    if (encoding.toLowerCase() !== IDENTITY) {
      return call.refuse('media_type_unsupported', 'Send the message without a content encoding.')
    }
    const reader = new MessageReader(call, (bytes) => this.#authenticateAgain(exchange, bytes))
    if (contentLength > MESSAGE_BYTES_MAX) reader.onTooLarge()
    else this.#options.bodies.read(call, MESSAGE_BYTES_MAX, reader)
  }

  /** Authenticates again, because the credential may have been revoked, or its grant changed, while the message arrived. */
  #authenticateAgain(exchange: Exchange, bytes: Buffer): void {
    const { call, headers, revision } = exchange
    const { authenticator, callerContexts, isStaleAt } = this.#options
    if (isStaleAt(performance.now())) return refuseStale(call)
    const receive = (context: CallerContext): void => {
      if (context === exchange.context) return this.#receive(exchange, bytes)
      call.attribution = attributionOf(context, revision.operations.length, 'mcp')
      const changed = { ...exchange, context }
      if (!this.#lacksCertificate(changed)) this.#receive(changed, bytes)
    }
    const find = (result: Caller | Refusal): void => {
      if ('code' in result) return refuseCredential(call, revision, result)
      const context = callerContexts.of(result, revision)
      if (context instanceof Promise) resume(call, context, receive)
      else receive(context)
    }
    const result = authenticator.authenticate(headers.authorization, headers.apiKey, revision.plan.api)
    if (result instanceof Promise) resume(call, result, find)
    else find(result)
  }

  /** Returns true if the message was refused, because it does not come over the certificate of its credential. */
  #lacksCertificate({ call, revision, context: { caller } }: Exchange): boolean {
    const detail = findCertificateFault(caller, false, call.socket, this.#options.nowMs())
    if (detail === null) {
      this.#options.authenticator.noteUse(caller)
      return false
    }
    const challenge = revision.mcpChallenges.credential_invalid
    call.refuse('credential_invalid', detail, { headers: ['WWW-Authenticate', challenge] })
    return true
  }

  #receive(exchange: Exchange, bytes: Buffer): void {
    const message = readMessage(bytes)
    if ('code' in message) return this.#refuse(exchange, message)
    const revision = readRevision(message, exchange.call.request.headers)
    if (typeof revision !== 'string') return this.#refuse(exchange, revision)
    if (message.id === null || message.method !== 'tools/call') return this.#answer(exchange, message, revision)
    this.#callTool(exchange, message, message.id, revision)
  }

  #callTool(exchange: Exchange, message: Message, id: MessageId, protocol: ProtocolRevision): void {
    const { call, headers, context } = exchange
    const { name, arguments: args } = message.params
    const isSearch = isSearching(context)
    if (isSearch && isSearchTool(name)) return this.#answer(exchange, message, protocol)
    const common = { call, headers, context, id, protocol }
    const inner = isSearch && name === CALL_OPERATION ? fieldsOf(args) : null
    const named = inner === null ? { name, args } : { name: inner['operation'], args: inner['arguments'] }
    const fault = startToolCall(this.#options.admit, { ...common, ...named })
    if (fault !== null) this.#refuse(exchange, fault)
  }

  #refuse(exchange: Exchange, fault: MessageFault): void {
    if (!this.#isLimited(exchange)) refuseMessage(exchange.call, fault)
  }

  #answer(exchange: Exchange, message: Message, revision: ProtocolRevision): void {
    const { call, context } = exchange
    if (this.#isLimited(exchange)) return
    if (message.id === null) return call.accept()
    const answer = answerMessage(context, message, message.id, revision)
    if (typeof answer === 'string') call.answer(200, answer)
    else refuseMessage(call, answer)
  }

  /** Counts a message that calls no operation. Returns true if it was refused. */
  #isLimited({ call, context: { caller, grant } }: Exchange): boolean {
    const { limit, nowMs } = this.#options
    // People who use the same client have limits of their own.
    const credential = `${grant.credential === '' ? grant.subscription : grant.credential} ${caller.person}`
    const waitSeconds = limit.take(credential, nowMs())
    if (waitSeconds === 0) return false
    call.refuse('rate_limited', `Too many messages that call no operation. Retry after ${waitSeconds} s.`, {
      headers: ['Retry-After', String(waitSeconds)],
    })
    return true
  }
}

/** Refuses a message. One that no client sends by mistake counts as an invalid payload. */
function refuseMessage(call: McpCall, fault: MessageFault): void {
  const message = writeError(fault)
  if (fault.code === PARSE_ERROR || fault.code === INVALID_REQUEST)
    call.answerInvalid(fault.status, fault.text, message)
  else call.answer(fault.status, message)
}

function refuseCredential(call: McpCall, { plan, mcpChallenges }: CompiledRevision, refusal: Refusal): void {
  const { grant, person, code, detail } = refusal
  if (grant !== null && grant.tenant === plan.tenant) {
    const agent = grant.consumerKind === 'agent' ? grant.consumer : ''
    call.attribution = toAttribution(plan, '', { grant, agent, person }, null, 'mcp')
  }
  if (code === 'unavailable') return refuseUnavailable(call, detail, 'authenticate')
  const challenge = mcpChallenges[code]
  call.refuse(code, detail, challenge === null ? {} : { headers: ['WWW-Authenticate', challenge] })
}

/** Continues a call that has waited, unless the call is over by then. */
function resume<T>(call: McpCall, waiting: Promise<T>, step: (value: T) => void): void {
  void waiting.then(
    (value) => call.isOver || call.attempt(() => step(value)),
    (cause: unknown) => call.isOver || call.crash(cause),
  )
}

class MessageReader implements BodyReader {
  readonly #call: McpCall
  readonly #onMessage: (bytes: Buffer) => void

  constructor(call: McpCall, onMessage: (bytes: Buffer) => void) {
    this.#call = call
    this.#onMessage = onMessage
  }

  onBody(bytes: Buffer): void {
    const call = this.#call
    call.isBodyRead = true
    call.requestBytes = bytes.length
    this.#onMessage(bytes)
  }

  onTooLarge(): void {
    this.#call.refuse('payload_too_large', `A message has at most ${MESSAGE_BYTES_MAX} bytes.`)
  }

  onSlow(): void {
    if (!this.#call.isOver) refuseSlowBody(this.#call)
  }

  onNoRoom(): void {
    refuseUnavailable(this.#call, 'The gateway is holding too many request bodies at the moment.', 'validate')
  }
}

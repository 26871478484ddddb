/**
 * Converts errors to problem details (RFC 9457), for every status of 400 and above.
 *
 * An unexpected error is logged, and its text is not shown to the caller. Text of the request is truncated before it is echoed.
 */

import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem, problemDocument, type OtherCode, type ProblemPointer } from '../../foundation/domain/problem.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import { StoreUnwritable } from '../../storage/store/unwritable.ts'
import type { AllowedMethods } from './allowed-methods.ts'

export interface ProblemsOptions {
  readonly log: Log
  readonly allowedMethods: AllowedMethods
}

/** Code and detail for errors of fastify. */
const KNOWN: Readonly<Record<string, readonly [OtherCode, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['payload_too_large', 'The body is larger than this operation accepts.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['media_type_unsupported', 'Send the body as application/json.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['payload_invalid', 'The length of the body differs from Content-Length.'],
  FST_ERR_CTP_INVALID_JSON_BODY: ['payload_invalid', 'The body is not valid JSON.'],
  FST_ERR_MAX_PARAM_LENGTH: ['not_found', 'A path parameter is longer than 256 characters.'],
  FST_ERR_BAD_URL: ['payload_invalid', 'The path contains an invalid percent-encoding.'],
}
const CONTEXTS: Readonly<Record<string, string>> = { querystring: 'query', headers: 'headers', body: 'body' }
const ECHO_LENGTH_MAX = 128
const RETRY_AFTER_SECONDS = '1'
/** Headers that apply to a success only. */
const SUCCESS_HEADERS = ['ETag', 'Location', 'Link', 'Vary', 'Content-Length']

export function installProblems(app: FastifyInstance, { log, allowedMethods }: ProblemsOptions): void {
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const problem = toProblem(error)
    // A read that ends because its caller has left is no failure.
    if (problem.status >= 500 && !(problem.code === 'unavailable' && reply.raw.destroyed))
      log.error({ err: error, requestId: request.id }, 'platform call failed; it is answered with a problem document')
    return sendProblem(request, reply, problem)
  })
  app.setNotFoundHandler((request, reply) => {
    const allowed = allowedMethods(request.url)
    if (allowed.length === 0) return sendProblem(request, reply, new Problem('not_found', 'This path does not exist.'))
    void reply.header('Allow', allowed.join(', '))
    return sendProblem(request, reply, new Problem('method_not_allowed', `This path supports ${allowed.join(', ')}.`))
  })
}

export function sendProblem(request: FastifyRequest, reply: FastifyReply, problem: Problem): FastifyReply {
  return reply.send(writeProblem(request, reply, problem))
}

/** Turns `reply` into the reply of a problem, and returns its body. */
export function writeProblem(request: FastifyRequest, reply: FastifyReply, problem: Problem): string {
  const { code, message, status, errors, extensions, retryAfterSeconds } = problem
  for (const name of SUCCESS_HEADERS) reply.removeHeader(name)
  if (retryAfterSeconds !== null) void reply.header('Retry-After', String(retryAfterSeconds))
  else if (status === 503 && !reply.hasHeader('Retry-After')) void reply.header('Retry-After', RETRY_AFTER_SECONDS)
  void reply.code(status).type('application/problem+json')
  return JSON.stringify(problemDocument(code, message, request.id, errors, extensions))
}

/** Converts an error to a problem that is safe to show to the caller. */
export function toProblem(error: Error): Problem {
  if (error instanceof Problem) return error
  if (error instanceof StoreUnwritable) {
    const detail = `The request cannot be served at the moment: ${error.because}. Retry later.`
    return new Problem('unavailable', detail, { cause: error })
  }
  const { validation, validationContext = '', code, statusCode = 500 } = error as FastifyError
  if (validation !== undefined) {
    const place = CONTEXTS[validationContext] ?? 'request'
    return new Problem('payload_invalid', `The ${place} does not match its schema.`, {
      errors: validation.map(toPointer),
    })
  }
  const known = KNOWN[code]
  if (known !== undefined) return new Problem(...known)
  if (statusCode >= 400 && statusCode < 500) return new Problem('payload_invalid', 'The request is malformed.')
  return new Problem('internal', 'The service failed. Report the request id to its operator.', {
    cause: error,
  })
}

type Fault = NonNullable<FastifyError['validation']>[number]

function toPointer({ instancePath, message = 'does not match its schema', params }: Fault): ProblemPointer {
  const member = params['additionalProperty'] ?? params['missingProperty']
  const pointer = typeof member === 'string' ? `${instancePath}/${escape(member)}` : instancePath
  const allowed = params['allowedValues']
  const detail = Array.isArray(allowed) ? `${message}: ${allowed.join(', ')}` : message
  return { pointer: pointer.slice(0, ECHO_LENGTH_MAX), detail }
}

/** RFC 6901, section 3. */
function escape(member: string): string {
  return member.slice(0, ECHO_LENGTH_MAX).replaceAll('~', '~0').replaceAll('/', '~1')
}

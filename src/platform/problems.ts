/** Errors on the wire: problem details (RFC 9457) for every status of 400 and above. */

import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem, problemDocument, type ProblemCode, type ProblemPointer } from '../domain/problem.ts'
import type { Log } from '../runtime/log.ts'

/** fastify's own errors, as codes of ours. */
const KNOWN: Readonly<Record<string, ProblemCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'media_type_unsupported',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'payload_invalid',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'payload_invalid',
  FST_ERR_CTP_INVALID_JSON_BODY: 'payload_invalid',
}

export function installProblems(app: FastifyInstance, log: Log): void {
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const problem = toProblem(error)
    if (problem.status >= 500) log.error({ err: error, requestId: request.id }, 'a request failed')
    return send(request, reply, problem)
  })
  app.setNotFoundHandler((request, reply) => {
    const allowed = METHODS.filter((method) => app.findRoute({ method, url: request.url.split('?')[0] ?? '' }) !== null)
    if (allowed.length === 0) return send(request, reply, new Problem('not_found', 'There is no such path.'))
    void reply.header('Allow', allowed.join(', '))
    return send(request, reply, new Problem('method_not_allowed', `This path takes ${allowed.join(', ')}.`))
  })
}

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const

function send(request: FastifyRequest, reply: FastifyReply, problem: Problem): FastifyReply {
  const { code, message, errors, extensions } = problem
  return reply
    .code(problem.status)
    .type('application/problem+json')
    .send(JSON.stringify(problemDocument(code, message, request.id, errors, extensions)))
}

function toProblem(error: FastifyError): Problem {
  if (error instanceof Problem) return error
  if (error.validation !== undefined) {
    const errors = error.validation.map(({ instancePath, message = 'is not as declared', params }) =>
      toPointer(instancePath, message, params),
    )
    return new Problem('payload_invalid', `The ${error.validationContext ?? 'request'} is not as declared.`, { errors })
  }
  const known = KNOWN[error.code]
  if (known !== undefined) return new Problem(known, 'The body cannot be read as declared.')
  if (error.statusCode !== undefined && error.statusCode < 500)
    return new Problem('payload_invalid', 'The request cannot be read.')
  return new Problem('internal', 'Something failed that is not your fault. The request id helps to find it.', {
    cause: error,
  })
}

function toPointer(pointer: string, detail: string, params: Record<string, unknown>): ProblemPointer {
  const extra = params['additionalProperty'] ?? params['missingProperty']
  return typeof extra === 'string' ? { pointer: `${pointer}/${extra}`, detail } : { pointer, detail }
}

/**
 * Calls operations of the platform API with the token of a session.
 *
 * A refusal is thrown with the sentences of its problem document. A stored token that the service does not accept any more is
 * renewed once.
 */

import { CommandFailed, EXIT_NEGATIVE, EXIT_TROUBLE } from '../exit-codes.ts'
import { toPlain } from '../output/plain-text.ts'
import { parseJson, send, type HttpAnswer } from './http.ts'
import type { Session } from './session.ts'

export interface ApiCall {
  readonly method: string
  /** Below the address of the service, with its query. */
  readonly path: string
  readonly body?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

export interface ApiClient {
  readonly session: Session
  /** Returns the answer, whatever its status. */
  send(call: ApiCall): Promise<HttpAnswer>
  /** Returns the JSON of the answer, or null if it has no body; throws if the status is 400 or above. */
  call(call: ApiCall): Promise<unknown>
}

/** Validation of a large document takes a while. */
const TIMEOUT_MS = 120_000
const PENDING_NODES = 'tollgate-pending-nodes'

export function createApiClient(session: Session): ApiClient {
  let isFirst = true

  async function request({ method, path, body, headers }: ApiCall, isRefused: boolean): Promise<HttpAnswer> {
    const token = await session.token(isRefused)
    const init = {
      method,
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
        ...(token !== '' && { authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body: body as NonNullable<RequestInit['body']> }),
    }
    return send(`${session.baseUrl}${path}`, init, TIMEOUT_MS)
  }

  async function sendCall(call: ApiCall): Promise<HttpAnswer> {
    // Only for its warning of a newer version; the call does not wait for it.
    if (isFirst) session.service().catch(() => {})
    isFirst = false
    const first = await request(call, false)
    const answer = first.status === 401 && session.context !== null ? await request(call, true) : first
    const pending = answer.headers.get(PENDING_NODES)
    if (pending !== null) session.warn(pendingSentence(pending))
    return answer
  }

  return {
    session,
    send: sendCall,
    async call(call) {
      const answer = await sendCall(call)
      refuseProblem(answer)
      return answer.body.length === 0 ? null : readJson(answer)
    },
  }
}

function pendingSentence(nodes: string): string {
  if (nodes === '*') return 'Nodes may not have applied the change yet: their list cannot be read at the moment.'
  return `These nodes have not applied the change yet: ${toPlain(nodes)}. See: tollgate nodes list`
}

export function refuseProblem(answer: HttpAnswer): void {
  const { status } = answer
  if (status < 300) return
  throw new CommandFailed(explainProblem(answer), status >= 400 && status < 500 ? EXIT_NEGATIVE : EXIT_TROUBLE)
}

function readJson(answer: HttpAnswer): unknown {
  const value = parseJson(answer)
  if (value === undefined) throw new CommandFailed('The service answered with something else than JSON.')
  return value
}

interface ProblemDocument {
  readonly title?: unknown
  readonly detail?: unknown
  readonly code?: unknown
  readonly requestId?: unknown
  readonly errors?: unknown
  /** The changes of a document that break its callers. */
  readonly changes?: unknown
}

const LINES_MAX = 20

/** Returns the sentences of a problem document (RFC 9457), with a line for each location or change. */
export function explainProblem(answer: Pick<HttpAnswer, 'status' | 'body'>): string {
  const { status } = answer
  const found = parseJson(answer)
  if (typeof found !== 'object' || found === null) return `The service answered ${status}.`
  const { title, detail, code, requestId, errors, changes } = found as ProblemDocument
  const sentence = [detail, title].find((text) => typeof text === 'string' && text !== '') ?? 'The service refused.'
  const facts = [String(status), code, typeof requestId === 'string' ? `request ${requestId}` : null]
  const shown = facts.filter((fact) => typeof fact === 'string').join(', ')
  const lines = [...listOf(errors).map(errorLine), ...listOf(changes).map(toChangeLine)]
  const more = lines.length > LINES_MAX ? [`  and ${lines.length - LINES_MAX} more`] : []
  return [`${toPlain(String(sentence))} (${toPlain(shown)})`, ...lines.slice(0, LINES_MAX), ...more].join('\n')
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function toChangeLine(change: unknown): string {
  const { message, operations, line } = (change ?? {}) as Record<string, unknown>
  const named = listOf(operations).map(String).join(', ')
  const place = typeof line === 'number' ? ` (line ${line})` : ''
  return `  ${toPlain(`${named === '' ? '' : `${named}: `}${String(message ?? '')}${place}`)}`
}

/** Returns a line for a location of a problem or a warning, with its place in the text if it has one. */
export function errorLine(error: unknown): string {
  const { pointer, detail, line, column } = (error ?? {}) as Readonly<Record<string, unknown>>
  const text = [String(pointer ?? ''), String(detail ?? '')].filter((part) => part !== '').join(': ')
  // The sentence of a parser often has the place already.
  const isPlaced = typeof line !== 'number' || new RegExp(`\\bline ${line}\\b`).test(text)
  const at = typeof column === 'number' ? `line ${String(line)}, column ${column}` : `line ${String(line)}`
  return `  ${toPlain(isPlaced ? text : `${text} (${at})`)}`
}

/**
 * A call whose request is a message over MCP.
 *
 * Before the message is understood, a refusal is an HTTP response like that of any other call. From then on it is the result of
 * the tool call, with status 200; the record keeps the status of the operation.
 */

import type { ProblemDocument } from '../../foundation/domain/problem.ts'
import { Call } from '../call/call.ts'
import { toResponseFields } from '../connection/response-fields.ts'

/** Writes a refusal as the result of a tool call. */
export type WriteRefusal = (problem: ProblemDocument, retryAfterSeconds: string | null) => string

export class McpCall extends Call {
  override readonly channel = 'mcp'
  /** Set once the message is known to be a tool call. */
  writeRefusal: WriteRefusal | null = null
  /** Status of the response, if it is not that of the record. */
  #sentStatus = 0

  /** Finishes the call with a message; `status` is recorded. */
  answer(status: number, message: string, sentStatus = status): void {
    this.status = status
    this.finish('served', this.#prepare(sentStatus, message))
  }

  /** Finishes the call with a message that the client must correct, which is recorded as an invalid payload. */
  answerInvalid(status: number, detail: string, message: string): void {
    this.explanation = { detail, stage: 'validate' }
    this.status = status
    this.finish('payload_invalid', this.#prepare(status, message))
  }

  /** Accepts a notification. */
  accept(): void {
    this.status = 202
    this.head = toResponseFields(['Content-Length', '0'])
    this.finish('served', null)
  }

  /** Clients ask for a stream of messages and continue without one; that is no refused call. */
  declineStream(): void {
    this.status = 405
    this.head = toResponseFields(['Allow', 'POST', 'Content-Length', '0'])
    this.finish('served', null)
  }

  override sendHead(): void {
    const recorded = this.status
    if (this.#sentStatus !== 0) this.status = this.#sentStatus
    super.sendHead()
    this.status = recorded
  }

  override onRefused(): void {
    this.#sentStatus = 0
    super.onRefused()
  }

  protected override writeProblem(problem: ProblemDocument, headers: readonly string[] = []): string | Buffer {
    if (this.writeRefusal === null) return super.writeProblem(problem, headers)
    return this.#prepare(200, this.writeRefusal(problem, valueOf(headers, 'Retry-After')))
  }

  /** Prepares the head of a message, and returns its bytes. */
  #prepare(sentStatus: number, message: string): Buffer {
    const bytes = Buffer.from(message)
    this.#sentStatus = sentStatus
    this.head = toResponseFields(['Content-Type', 'application/json', 'Content-Length', String(bytes.length)])
    return bytes
  }
}

function valueOf(headers: readonly string[], name: string): string | null {
  const at = headers.indexOf(name)
  return at < 0 ? null : (headers[at + 1] ?? null)
}

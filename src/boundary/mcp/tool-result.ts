/**
 * Writes the result of a tool call: the response of the operation, or the refusal of the service.
 *
 * JSON is passed on as text, and as `structuredContent` if the tool has an output schema. Images and sound keep their type, other
 * bytes become an embedded resource. A status of 400 or above is a tool error that a model can read and correct.
 */

import type { ProblemDocument } from '../../foundation/domain/problem.ts'
import { isJson, parseMediaType } from '../../foundation/domain/media-type.ts'
import type { Tool } from './tool.ts'

/** The response of an operation. */
export interface ToolResponse {
  readonly status: number
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
  /** A string is text that the service itself has written: JSON, if the type says so. */
  readonly body: Buffer | string
  /** True if the response was longer than a result may be; `body` is the beginning. */
  readonly isCut: boolean
  /** A text of its own after a response that was served. */
  readonly note?: string | null
}

const STATUS_ERROR_MIN = 400
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Returns the members of the result, as JSON without braces. */
export function writeResponse(tool: Pick<Tool, 'output'>, target: string, response: ToolResponse): string {
  const { status, contentType = '', contentEncoding, body, isCut, note = null } = response
  const type = parseMediaType(contentType)?.type ?? 'application/octet-stream'
  const isError = status >= STATUS_ERROR_MIN
  if (isCut) return writeText(`The response is too long for a tool result; these are the first bytes.\n${body}`, true)
  if (contentEncoding !== undefined && contentEncoding !== 'identity') {
    return writeText(`Status ${status}. The response is compressed (${contentEncoding}) and cannot be shown.`, true)
  }
  if (body.length === 0) return writeText(`Status ${status}, without a body.`, isError, isError ? null : note)
  const text = typeof body === 'string' ? body : isTextual(type) ? decode(body) : null
  if (text === null) return writeBytes(type, target, body as Buffer, isError)
  if (isError) return writeText(`Status ${status}\n${text}`, true)
  return writeText(text, false, note) + writeStructured(tool, type, text, typeof body === 'string')
}

export function writeProblem(problem: ProblemDocument, retryAfterSeconds: string | null): string {
  const retry = retryAfterSeconds === null ? '' : ` Retry after ${retryAfterSeconds} s.`
  return writeText(`${problem.detail}${retry}\n${JSON.stringify(problem)}`, true)
}

export function writeText(text: string, isError: boolean, note: string | null = null): string {
  const second = note === null ? '' : `,${textBlock(note)}`
  return `"content":[${textBlock(text)}${second}],"isError":${isError}`
}

function textBlock(text: string): string {
  return `{"type":"text","text":${JSON.stringify(text)}}`
}

/** The text of valid JSON is used as it is. */
function writeStructured({ output }: Pick<Tool, 'output'>, type: string, text: string, isValid: boolean): string {
  if (output === null || !isJson(type)) return ''
  const isObject = isValid ? text.startsWith('{') : isJsonObject(text)
  if (isObject === null) return ''
  if (output === 'result') return `,"structuredContent":{"result":${text}}`
  return isObject ? `,"structuredContent":${text}` : ''
}

/** Returns null if the text is no JSON. */
function isJsonObject(text: string): boolean | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return null
  }
}

function writeBytes(type: string, target: string, body: Buffer, isError: boolean): string {
  const data = body.toString('base64')
  const kind = /^(image|audio)\//.exec(type)?.[1]
  const block =
    kind === undefined
      ? { type: 'resource', resource: { uri: `operation:${target}`, mimeType: type, blob: data } }
      : { type: kind, data, mimeType: type }
  return `"content":[${JSON.stringify(block)}],"isError":${isError}`
}

function isTextual(type: string): boolean {
  return type.startsWith('text/') || isJson(type) || /[/+](?:xml|yaml|javascript|x-www-form-urlencoded)$/.test(type)
}

function decode(body: Buffer): string | null {
  try {
    return utf8.decode(body)
  } catch {
    return null
  }
}

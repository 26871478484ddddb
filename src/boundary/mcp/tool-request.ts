/**
 * Writes the arguments of a tool call as the request for its operation, as OpenAPI serialises them.
 *
 * The result passes the same checks as the request of a client: a canonical path that leads to the same operation, and then the
 * schemas. Arguments that cannot be written are faults.
 */

import type { ProblemPointer } from '../../foundation/domain/problem.ts'
import { fieldsOf, type Fields } from '../../foundation/json/fields.ts'
import { escapePointer } from '../../foundation/json/references.ts'
import type { OperationPlan, ParameterPlan } from '../plan/route-plan.ts'
import type { ToolArguments, ToolBody } from './tool-arguments.ts'
import { toPairs, toText } from './argument-text.ts'

export interface ToolRequest {
  /** Path and query, without the name of the API. */
  readonly target: string
  readonly headers: Record<string, string>
  /** Name, value, … for the backend. */
  readonly forward: string[]
  readonly contentType: string | undefined
  readonly body: Buffer | null
}

const TARGET_LENGTH_MAX = 16_384
/** A name is repeated for each item of a list, so that a form could be much longer than its message. */
const FORM_LENGTH_MAX = 4 * 1024 * 1024
const FORM_PAIRS_MAX = 50_000
const POINTER_LENGTH_MAX = 200
const ERRORS_MAX = 20
/** Includes white space at an end: a backend ignores it, so that it would receive another value than the one that was validated. */
// oxlint-disable-next-line no-control-regex
const NOT_IN_HEADER = /^[\t ]|[\t ]$|[^\t\x20-\x7e\x80-\xff]/

export function toToolRequest(
  { method, path }: OperationPlan,
  { parameters, body }: ToolArguments,
  args: Fields,
): ToolRequest | { readonly faults: readonly ProblemPointer[] } {
  const writer = new RequestWriter(path)
  for (const [name, value] of Object.entries(args)) {
    const parameter = parameters.get(name)
    if (parameter !== undefined) writer.add(name, parameter, value)
    else if (name === body?.name) writer.setBody(name, body, value)
    else writer.fault(name, 'is not an argument of this tool')
  }
  return writer.finish(method)
}

class RequestWriter {
  readonly #template: string
  readonly #path = new Map<string, string>()
  readonly #query: string[] = []
  #queryLength = 0
  readonly #headers: Record<string, string> = {}
  #cookies = ''
  readonly #forward: string[] = []
  readonly #faults: ProblemPointer[] = []
  #contentType: string | undefined
  #body: Buffer | null = null

  constructor(template: string) {
    this.#template = template
  }

  fault(name: string, detail: string): void {
    if (this.#faults.length >= ERRORS_MAX) return
    this.#faults.push({ pointer: `/${escapePointer(name)}`.slice(0, POINTER_LENGTH_MAX), detail })
  }

  /** A null stands for an argument that is left out. */
  add(name: string, parameter: ParameterPlan, value: unknown): void {
    if (value === null) return
    try {
      this.#write(parameter, value)
    } catch (cause) {
      if (!(cause instanceof TypeError || cause instanceof URIError)) throw cause
      this.fault(name, 'cannot be sent as a parameter')
    }
  }

  setBody(name: string, { kind, mediaType }: ToolBody, value: unknown): void {
    if (kind === 'text' && typeof value !== 'string') return this.fault(name, 'must be a string')
    try {
      const text = kind === 'json' ? JSON.stringify(value) : kind === 'text' ? (value as string) : toForm(value)
      this.#body = Buffer.from(text)
      this.#addHeader('content-type', mediaType)
      this.#contentType = mediaType
    } catch (cause) {
      if (!(cause instanceof TypeError || cause instanceof URIError)) throw cause
      this.fault(name, 'cannot be sent as a form')
    }
  }

  finish(method: string): ToolRequest | { readonly faults: readonly ProblemPointer[] } {
    const path = this.#template.replace(/\{([^{}]*)\}/g, (_, name: string) => {
      const text = this.#path.get(name)
      if (text === undefined || text === '') this.fault(name, 'is required')
      return text ?? ''
    })
    const target = this.#query.length === 0 ? path : `${path}?${this.#query.join('&')}`
    if (target.length > TARGET_LENGTH_MAX) this.fault('', 'are too long for a request target')
    if (this.#cookies !== '') this.#addHeader('cookie', this.#cookies)
    if (this.#faults.length > 0) return { faults: this.#faults }
    const body = method === 'GET' || method === 'HEAD' ? null : this.#body
    return { target, headers: this.#headers, forward: this.#forward, contentType: this.#contentType, body }
  }

  #write(parameter: ParameterPlan, value: unknown): void {
    const { name, in: place } = parameter
    switch (place) {
      case 'path':
        return void this.#path.set(name, encodePath(toText(parameter, value)))
      case 'query':
        for (const [key, text] of toPairs(parameter, value)) this.#addQuery(key, text)
        return
      case 'header':
        return this.#addHeader(name.toLowerCase(), toText(parameter, value))
      case 'cookie':
        return this.#addCookie(`${name}=${encodeURIComponent(toText(parameter, value))}`)
    }
  }

  /** Checks the length first, since a long key may come with each of many items. */
  #addQuery(key: string, text: string): void {
    this.#queryLength += key.length + text.length
    if (this.#queryLength > TARGET_LENGTH_MAX) throw new TypeError('too long for a query')
    this.#query.push(`${encodeURIComponent(key)}=${encodeURIComponent(text)}`)
  }

  #addCookie(pair: string): void {
    const cookies = this.#cookies === '' ? pair : `${this.#cookies}; ${pair}`
    if (!isHeaderValue(cookies)) throw new TypeError('not a cookie')
    this.#cookies = cookies
  }

  #addHeader(name: string, value: string): void {
    if (!isHeaderValue(value)) throw new TypeError('not a header value')
    this.#headers[name] = value
    this.#forward.push(name, value)
  }
}

/** Commas separate the items of a list and may be part of a path. */
function encodePath(text: string): string {
  return encodeURIComponent(text).replaceAll('%2C', ',')
}

function isHeaderValue(value: string): boolean {
  return !NOT_IN_HEADER.test(value) && value.length <= TARGET_LENGTH_MAX
}

function toForm(value: unknown): string {
  const pairs: string[] = []
  let length = 0
  for (const [name, member] of Object.entries(fieldsOf(value))) {
    const key = encodeURIComponent(name)
    for (const item of Array.isArray(member) ? (member as unknown[]) : [member]) {
      const text = scalarOrJson(item)
      length += key.length + text.length + 2
      if (length > FORM_LENGTH_MAX || pairs.length >= FORM_PAIRS_MAX) throw new TypeError('too long for a form')
      pairs.push(`${key}=${encodeURIComponent(text)}`)
    }
  }
  return pairs.join('&')
}

function scalarOrJson(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/**
 * Responses of two versions of an operation: statuses, headers and bodies.
 *
 * A response of the new version must have been declared before. Statuses of 4xx and 5xx are information: the gateway itself answers
 * undeclared ones, such as 401 and 429, so that every caller has to expect them.
 */

import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import { escapePointer } from '../../../foundation/json/references.ts'
import type { DeclaredOperation } from '../operations.ts'
import { entryFor, isJson, rangesOf, responseMediaOf, valueOf } from './media-types.ts'
import { follow, type Sides } from './sides.ts'

interface Response {
  readonly fields: Fields
  readonly pointer: string
}

type Responses = ReadonlyMap<string, Response>

const DEFAULT = 'DEFAULT'

export function compareResponses(sides: Sides, before: DeclaredOperation, after: DeclaredOperation): void {
  const [one, other] = [responsesOf(sides.previous, before), responsesOf(sides.next, after)]
  // Without declared responses any response could occur.
  if (one.size === 0) return
  for (const status of new Set([...one.keys(), ...other.keys()])) {
    const [was, is] = [responseFor(one, status), responseFor(other, status)]
    if (was !== undefined && is !== undefined) compareResponse(sides, was, is)
    else if (was !== undefined) {
      const id = idOfRemoved(status, one, other)
      const at = { pointer: `${after.pointer}/responses`, previousPointer: was.pointer, detail: shown(status) }
      if (id !== null) sides.report(id, at)
    } else if (is !== undefined) {
      const id = isError(status, other) ? 'response.error.added' : 'response.status.added'
      sides.report(id, { pointer: is.pointer, previousPointer: `${before.pointer}/responses`, detail: shown(status) })
    }
  }
}

/** Null: the statuses of a range, or those of the default, are declared one by one now. */
function idOfRemoved(status: string, before: Responses, after: Responses) {
  if (isError(status, before)) return 'response.error.removed'
  const prefix = status === DEFAULT ? '' : status.slice(0, 1)
  const isRange = status === DEFAULT || status.endsWith('XX')
  if (isRange && [...after.keys()].some((each) => each.startsWith(prefix) && !isError(each, after))) return null
  const expected = [...before.keys()].filter((each) => !isError(each, before))
  const successes = expected.filter((each) => !each.startsWith('3'))
  const isLeft = (successes.length > 0 ? successes : expected).some((each) => responseFor(after, each) !== undefined)
  return isLeft ? 'response.status.removed' : 'response.success.removed'
}

/** The default describes errors unless the operation declares no other success. */
function isError(status: string, responses: Responses): boolean {
  if (status !== DEFAULT) return status.startsWith('4') || status.startsWith('5')
  return [...responses.keys()].some((each) => each.startsWith('2'))
}

function shown(status: string): string {
  return status === DEFAULT ? 'default' : status
}

function responsesOf(document: Fields, { fields, pointer }: DeclaredOperation): Responses {
  const entries = Object.entries(fieldsOf(fields['responses'])).filter(([status]) => !status.startsWith('x-'))
  return new Map(
    entries.map(([status, response]) => {
      const at = `${pointer}/responses/${escapePointer(status)}`
      return [status.toUpperCase(), follow(document, response, at)]
    }),
  )
}

/** The response that holds for a status: its own, that of its range, the default. */
function responseFor(responses: Responses, status: string): Response | undefined {
  return responses.get(status) ?? responses.get(`${status.slice(0, 1)}XX`) ?? responses.get(DEFAULT)
}

function compareResponse(sides: Sides, before: Response, after: Response): void {
  compareHeaders(sides, before, after)
  const [was, is] = [responseMediaOf(before.fields, before.pointer), responseMediaOf(after.fields, after.pointer)]
  sides.budget.spend(was.size + is.size)
  // A response without content may have any body.
  if (was.size === 0) return
  if (is.size === 0) {
    const at = { pointer: after.pointer, previousPointer: `${before.pointer}/content` }
    return sides.report('response.content.removed', { ...at, detail: [...was.keys()].join(', ') })
  }
  const narrowed = rangesOf(is)
  for (const mediaType of new Set([...was.keys(), ...is.keys()])) {
    const [earlier, later] = [entryFor(was, mediaType), entryFor(is, mediaType)]
    if (earlier !== undefined && later !== undefined) {
      const schemas = isJson(mediaType) ? sides.responses : sides.unwatched
      schemas.add(earlier, later, sides.operation)
    } else if (earlier !== undefined && !narrowed.has(mediaType)) {
      const previousPointer = earlier.pointer.slice(0, -'/schema'.length)
      const at = { pointer: `${after.pointer}/content`, previousPointer }
      sides.report('response.mediaType.removed', { ...at, detail: mediaType })
    } else if (later !== undefined) {
      const pointer = later.pointer.slice(0, -'/schema'.length)
      const at = { pointer, previousPointer: `${before.pointer}/content` }
      sides.report('response.mediaType.added', { ...at, detail: mediaType })
    }
  }
}

/** Names of headers are the same in any case (RFC 9110, 5.1). */
function compareHeaders(sides: Sides, before: Response, after: Response): void {
  const [was, is] = [headersOf(sides.previous, before), headersOf(sides.next, after)]
  sides.budget.spend(was.size + is.size)
  for (const [name, { fields, pointer }] of was) {
    const same = is.get(name)
    if (same === undefined) {
      const at = { pointer: `${after.pointer}/headers`, previousPointer: pointer, detail: name }
      sides.report('response.header.removed', at)
      continue
    }
    if (fields['required'] === true && same.fields['required'] !== true) {
      sides.report('response.header.optional', { pointer: same.pointer, previousPointer: pointer, detail: name })
    }
    const [earlier, later] = [valueOf(fields, pointer), valueOf(same.fields, same.pointer)]
    const kind = earlier.kind === 'text' && later.kind === 'text' ? 'text' : 'json'
    sides.responses.add(earlier, later, sides.operation, kind)
  }
  for (const [name, { pointer }] of is) {
    if (was.has(name)) continue
    const at = { pointer, previousPointer: before.pointer, detail: name }
    sides.report('response.header.added', at)
  }
}

/** `Content-Type` is described by `content` alone. */
function headersOf(document: Fields, { fields, pointer }: Response): Responses {
  const headers = Object.entries(fieldsOf(fields['headers'])).filter(([name]) => name.toLowerCase() !== 'content-type')
  return new Map(
    headers.map(([name, header]) => [
      name.toLowerCase(),
      follow(document, header, `${pointer}/headers/${escapePointer(name)}`),
    ]),
  )
}

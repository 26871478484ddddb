/** Responses of two versions of an operation: statuses, headers and bodies. */

import { fieldsOf, type Fields } from '../../json/fields.ts'
import { escapePointer } from '../../json/references.ts'
import type { DeclaredOperation } from '../operations.ts'
import { entryFor, isValidated, mediaOf, valueOf } from './media-types.ts'
import { follow, type Sides } from './sides.ts'

interface Response {
  readonly fields: Fields
  readonly pointer: string
}

export function compareResponses(sides: Sides, before: DeclaredOperation, after: DeclaredOperation): void {
  const { report } = sides
  const [one, other] = [responsesOf(sides.previous, before), responsesOf(sides.next, after)]
  for (const status of new Set([...one.keys(), ...other.keys()])) {
    const [was, is] = [responseFor(one, status), responseFor(other, status)]
    const isSuccess = status.startsWith('2')
    if (was !== undefined && is !== undefined) compareResponse(sides, was, is)
    else if (was !== undefined && isSuccess && !isNarrowed(status, other)) {
      const at = { pointer: was.pointer, previousPointer: was.pointer }
      report('response.status.removed', { ...at, detail: status })
    } else if (was === undefined && is !== undefined && isSuccess) {
      report('response.status.added', { pointer: is.pointer, previousPointer: before.pointer, detail: status })
    }
  }
}

/** Whether statuses of a range are declared one by one now. */
function isNarrowed(status: string, after: ReadonlyMap<string, Response>): boolean {
  return status.endsWith('XX') && [...after.keys()].some((each) => each.startsWith(status.slice(0, 1)))
}

function responsesOf(document: Fields, { fields, pointer }: DeclaredOperation): ReadonlyMap<string, Response> {
  const entries = Object.entries(fieldsOf(fields['responses'])).filter(([status]) => !status.startsWith('x-'))
  return new Map(
    entries.map(([status, response]) => {
      const at = `${pointer}/responses/${escapePointer(status)}`
      return [status.toUpperCase(), follow(document, response, at)]
    }),
  )
}

/** The response that holds for a status: its own, that of its range, the default. */
function responseFor(responses: ReadonlyMap<string, Response>, status: string): Response | undefined {
  return responses.get(status) ?? responses.get(`${status.slice(0, 1)}XX`) ?? responses.get('DEFAULT')
}

function compareResponse(sides: Sides, before: Response, after: Response): void {
  const { report, responses, operation } = sides
  compareHeaders(sides, before, after)
  const [was, is] = [mediaOf(before.fields, before.pointer), mediaOf(after.fields, after.pointer)]
  sides.budget.spend(was.size + is.size)
  for (const mediaType of new Set([...was.keys(), ...is.keys()])) {
    const [earlier, later] = [entryFor(was, mediaType), entryFor(is, mediaType)]
    if (earlier !== undefined && later !== undefined) {
      if (isValidated(mediaType)) responses.add(earlier, later, operation)
    } else if (earlier !== undefined) {
      const previousPointer = earlier.pointer.slice(0, -'/schema'.length)
      report('response.mediaType.removed', { pointer: after.pointer, previousPointer, detail: mediaType })
    } else if (later !== undefined && was.size > 0) {
      const pointer = later.pointer.slice(0, -'/schema'.length)
      report('response.mediaType.added', { pointer, previousPointer: before.pointer, detail: mediaType })
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
}

/** `Content-Type` is described by `content` alone. */
function headersOf(document: Fields, { fields, pointer }: Response): ReadonlyMap<string, Response> {
  const headers = Object.entries(fieldsOf(fields['headers'])).filter(([name]) => name.toLowerCase() !== 'content-type')
  return new Map(
    headers.map(([name, header]) => [
      name.toLowerCase(),
      follow(document, header, `${pointer}/headers/${escapePointer(name)}`),
    ]),
  )
}

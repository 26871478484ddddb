/**
 * Decides by media type how a body is processed: refused, streamed, or read and validated.
 *
 * JSON and forms are validated; for other media types with a schema only the size is limited. A body that would be validated is
 * refused in another charset or coding, because the backend could read other values than the gateway.
 */

import type { BodyPlan, RoutePlan } from '../../boundary/plan/route-plan.ts'
import { parseJsonBody } from '../../foundation/json/parse-json-body.ts'
import { isJson, parseMediaType } from '../../foundation/domain/media-type.ts'
import { parsePairs, readForm, UNREADABLE } from './parameters.ts'
import type { Check, SchemaCompiler } from '../../boundary/schema/schema-compiler.ts'
import { toShape, type Shape } from './shape.ts'
import { invalid, toPointers, unsupported, type ValidationFailure } from './validation-failure.ts'

export type BodyWay =
  | { readonly mode: 'none' }
  | { readonly mode: 'stream' }
  | { readonly mode: 'check'; readonly bytesMax: number; readonly check: (body: Buffer) => ValidationFailure | null }

export interface BodyValidator {
  /** Returns how a body of this content type and coding is processed. */
  accepts(contentType: string | undefined, hasBody: boolean, contentEncoding?: string): BodyWay | ValidationFailure
}

/** How the bodies of one declared media type are processed. The type may be a range, so the sender's type selects the way. */
interface Ways {
  readonly json: BodyWay
  readonly form: BodyWay
  readonly other: BodyWay
}

const FORM = 'application/x-www-form-urlencoded'
const STREAM: BodyWay = { mode: 'stream' }
const NONE: BodyWay = { mode: 'none' }
const STREAMED: Ways = { json: STREAM, form: STREAM, other: STREAM }

export function compileBody(
  { required, bytesMax, content }: BodyPlan,
  components: RoutePlan['components'],
  compiler: SchemaCompiler,
): BodyValidator {
  const declared = new Map<string, Ways>()
  for (const [mediaType, schema] of Object.entries(content)) {
    if (schema === null) declared.set(mediaType, STREAMED)
    else if (schema === true) declared.set(mediaType, { ...STREAMED, json: toJsonWay(() => null, bytesMax) })
    else declared.set(mediaType, toWays(compiler.compile(schema), toShape(schema, components), bytesMax))
  }
  const known = [...declared.keys()].join(', ')

  return {
    accepts(contentType, hasBody, contentEncoding) {
      if (!hasBody) return required ? invalid('The operation requires a body.') : NONE
      const media = contentType === undefined ? null : parseMediaType(contentType)
      const ways = media === null ? undefined : waysFor(declared, media.type)
      if (media === null || ways === undefined) return unsupported(`The operation accepts ${known}.`)
      const way = isJson(media.type) ? ways.json : media.type === FORM ? ways.form : ways.other
      if (way.mode !== 'check') return way
      if (!media.isUtf8 && way !== ways.other) return unsupported('The operation accepts text in UTF-8 only.')
      if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity') {
        return unsupported('The operation accepts no Content-Encoding for this body.')
      }
      return way
    },
  }
}

/** Prefers the type itself, then its range, then any type. */
function waysFor(declared: ReadonlyMap<string, Ways>, type: string): Ways | undefined {
  return declared.get(type) ?? declared.get(`${type.slice(0, type.indexOf('/'))}/*`) ?? declared.get('*/*')
}

function toJsonWay(check: Check, bytesMax: number): BodyWay {
  return { mode: 'check', bytesMax, check: (body) => checkJson(body, check) }
}

function toWays(check: Check, shape: Shape, bytesMax: number): Ways {
  return {
    json: toJsonWay(check, bytesMax),
    form: { mode: 'check', bytesMax, check: (body) => checkForm(body, check, shape) },
    other: { mode: 'check', bytesMax, check: () => null },
  }
}

function checkJson(body: Buffer, check: Check): ValidationFailure | null {
  const result = parseJsonBody(body)
  return 'fault' in result ? invalid(result.fault) : conclude(check(result.value))
}

function checkForm(body: Buffer, check: Check, shape: Shape): ValidationFailure | null {
  const fields = parsePairs(body.toString('utf8'))
  if (fields === null) return invalid('The form has too many fields.')
  const value = readForm(fields, shape)
  return value === UNREADABLE ? invalid('The form cannot be decoded.') : conclude(check(value))
}

function conclude(errors: ReturnType<Check>): ValidationFailure | null {
  return errors === null ? null : invalid('The body does not match its schema.', toPointers(errors))
}

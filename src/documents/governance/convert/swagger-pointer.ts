/** Translates pointers into a converted document to pointers into the Swagger 2.0 document that it was made of. */

import { fieldsOf, listOf, type Fields } from '../../../foundation/json/fields.ts'
import { resolvePointer } from '../../../foundation/json/references.ts'

/** The result may name a member that does not exist: its closest existing ancestor has the place. */
type ToSwagger = (pointer: string) => string
type Parts = readonly string[]

/** The parameters of one operation or path. */
interface ParameterList {
  /** Positions of the parameters that the converter leaves in the list. */
  readonly kept: readonly number[]
  /** Position of the first body or field of a form; -1 if there is none. */
  readonly body: number
  /** Positions of the fields of a form by name. */
  readonly fields: ReadonlyMap<unknown, number>
}

const PREFIXES: ReadonlyMap<string, string> = new Map([
  ['schemas', 'definitions'],
  ['parameters', 'parameters'],
  ['requestBodies', 'parameters'],
  ['responses', 'responses'],
  ['securitySchemes', 'securityDefinitions'],
])
/** `paths` and the path. */
const PATH_PARTS = 2

/** Returns each spot with its pointer into the Swagger document. A schema that was copied for several media types is one spot. */
export function toSwaggerSpots<Spot extends { readonly pointer: string }>(
  swagger: Fields | null,
  spots: readonly Spot[],
): readonly Spot[] {
  const toSwagger = createToSwagger(swagger)
  const found = spots.map((spot) => ({ ...spot, pointer: toSwagger(spot.pointer) }))
  return swagger === null ? spots : [...new Map(found.map((spot) => [JSON.stringify(spot), spot])).values()]
}

/** Null: the document was not converted, so that every pointer stays as it is. */
export function createToSwagger(swagger: Fields | null): ToSwagger {
  if (swagger === null) return (pointer) => pointer
  const lists = new Map<string, ParameterList>()
  const listAt = (holder: Parts): ParameterList => {
    const pointer = toText(holder)
    const list = lists.get(pointer) ?? readParameters(swagger, pointer)
    lists.set(pointer, list)
    return list
  }
  return (pointer) => {
    const parts = pointer.split('/').slice(1)
    const [first, second = '', ...rest] = parts
    if (first === 'paths') return toText(inPath(parts, listAt))
    if (first === 'openapi') return '/swagger'
    if (first === 'servers') return swagger['host'] === undefined ? '/basePath' : '/host'
    if (first !== 'components') return pointer
    const prefix = PREFIXES.get(second)
    return prefix === undefined ? '' : toText([prefix, ...withoutContent(rest)])
  }
}

function inPath(parts: Parts, listAt: (holder: Parts) => ParameterList): Parts {
  const path = parts.slice(0, PATH_PARTS)
  const [method, member, ...inner] = parts.slice(PATH_PARTS)
  if (method === undefined || member === undefined) return parts
  if (method === 'parameters') return inParameter(path, listAt(path), [member, ...inner])
  const operation = [...path, method]
  if (member === 'parameters') return inParameter(operation, listAt(operation), inner)
  if (member !== 'requestBody') return [...operation, member, ...withoutContent(inner)]
  const found = [operation, path].find((holder) => listAt(holder).body >= 0)
  return found === undefined ? operation : inBody(found, listAt(found), withoutContent(inner))
}

function inBody(holder: Parts, { body, fields }: ParameterList, inner: Parts): Parts {
  const [, member, name, ...below] = inner
  const field = member === 'properties' ? fields.get(name) : undefined
  if (field !== undefined) return [...holder, 'parameters', String(field), ...below]
  return [...holder, 'parameters', String(body), ...inner]
}

/** The members of the schema of a parameter are members of the parameter itself. */
function inParameter(holder: Parts, { kept }: ParameterList, [index = '', ...below]: Parts): Parts {
  const at = [...holder, 'parameters', String(kept[Number(index)] ?? index)]
  return [...at, ...(below[0] === 'schema' ? below.slice(1) : below)]
}

function readParameters(swagger: Fields, holder: string): ParameterList {
  const locations = listOf(fieldsOf(resolvePointer(swagger, `#${holder}`))['parameters']).map((given) => {
    const reference = fieldsOf(given)['$ref']
    return fieldsOf(typeof reference === 'string' ? resolvePointer(swagger, reference) : given)
  })
  const isBody = ({ in: location }: Fields): boolean => location === 'body' || location === 'formData'
  return {
    kept: locations.flatMap((parameter, index) => (isBody(parameter) ? [] : [index])),
    body: locations.findIndex(isBody),
    fields: new Map(
      locations.flatMap(({ in: location, name }, index) => (location === 'formData' ? [[name, index]] : [])),
    ),
  }
}

/** Leaves out `content` and its media type: a schema of Swagger stands without them. */
function withoutContent(parts: Parts): Parts {
  const at = parts.indexOf('content')
  const schema = parts.indexOf('schema')
  return at < 0 || (schema >= 0 && schema < at) ? parts : [...parts.slice(0, at), ...parts.slice(at + 2)]
}

function toText(parts: Parts): string {
  return parts.map((part) => `/${part}`).join('')
}

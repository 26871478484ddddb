/**
 * Rewrites the parts of a Swagger 2.0 document that the converter would lose: body parameters that are shared, by reference or by
 * all operations of a path, and what it does not expect in a path.
 *
 * Also bounds the work of the converter, which copies the schema of a body for each media type.
 */

import { fieldsOf, listOf, type Fields } from '../../../foundation/json/fields.ts'
import { resolvePointer } from '../../../foundation/json/references.ts'
import { checkSize, ConversionFault, copyFields } from './plain-copy.ts'

type Members = Record<string, unknown>

export interface PreparedSwagger {
  /** May be changed by the converter. */
  readonly document: Members
  /** Extensions of path items by path, which the converter would read as operations. */
  readonly extensions: ReadonlyMap<string, Fields>
}

const MEDIA_TYPES_MAX = 50
/** The converter copies all former headers for each header of a response. */
const HEADERS_MAX = 100
const CONTENTS_MAX = 200_000
const ALIAS_STEPS_MAX = 5_000_000
const ALIASES = ['x-ms-discriminator-value', 'x-discriminator-value'] as const
const DEFAULT_TYPES = ['application/json']

/** Throws `ConversionFault`. */
export function prepareSwagger(original: Fields): PreparedSwagger {
  const document = copyFields(original)
  document['swagger'] = '2.0'
  checkAliases(fieldsOf(document['definitions']))
  checkHeaders(fieldsOf(document['responses']))
  dropEmptyTypes(document)
  const extensions = new Map<string, Fields>()
  const contents = { count: 0 }
  const parameters = membersOf(document['parameters'])
  const paths = membersOf(document['paths'])
  for (const [path, given] of Object.entries(paths)) {
    const { item, extra } = splitExtensions(membersOf(given))
    extensions.set(path, extra)
    prepareItem(document, item, contents)
    paths[path] = item
  }
  for (const [name, parameter] of Object.entries(parameters)) {
    // Every operation that refers to it has a copy.
    if (isBody(parameter)) delete parameters[name]
    else dropFormats(fieldsOf(parameter)['items'])
  }
  checkSize(document)
  return { document, extensions }
}

function splitExtensions(given: Members): { readonly item: Members; readonly extra: Fields } {
  const isExtension = ([name, value]: [string, unknown]): boolean =>
    name.startsWith('x-') || (name === 'parameters' ? !Array.isArray(value) : fieldsOf(value) !== value)
  const entries = Object.entries(given)
  return {
    item: Object.fromEntries(entries.filter((entry) => !isExtension(entry))),
    extra: Object.fromEntries(entries.filter(isExtension)),
  }
}

/** Moves body parameters from the path to its operations, and replaces references to them. */
function prepareItem(document: Fields, item: Members, contents: { count: number }): void {
  const shared = listOf(item['parameters']).map((parameter) => inline(document, parameter))
  const bodies = shared.filter(isBody)
  if (item['parameters'] !== undefined) item['parameters'] = shared.filter((parameter) => !isBody(parameter))
  for (const [method, given] of Object.entries(item)) {
    if (method === 'parameters') continue
    const operation = membersOf(given)
    const own = listOf(operation['parameters']).map((parameter) => inline(document, parameter))
    const isOverridden = own.some(isBody)
    const parameters = isOverridden ? own : [...own, ...bodies]
    if (parameters.length > 0) operation['parameters'] = parameters
    for (const parameter of parameters) dropFormats(fieldsOf(parameter)['items'])
    dropEmptyTypes(operation)
    // OpenAPI 3 has no schemes of operations; the address of a backend comes from the document or the proxy.
    delete operation['schemes']
    countContents(document, operation, contents)
  }
  for (const parameter of shared) dropFormats(fieldsOf(parameter)['items'])
}

/** Returns the target of a reference to a body parameter; every other parameter as it is. */
function inline(document: Fields, parameter: unknown): unknown {
  const reference = fieldsOf(parameter)['$ref']
  if (typeof reference !== 'string' || !reference.startsWith('#/parameters/')) return parameter
  const target = resolvePointer(document, reference)
  return isBody(target) ? target : parameter
}

function isBody(parameter: unknown): boolean {
  const { in: location } = fieldsOf(parameter)
  return location === 'body' || location === 'formData'
}

/** Deletes the member `collectionFormat` of nested lists: OpenAPI 3 has no such styles. */
function dropFormats(items: unknown): void {
  for (let at = items; typeof at === 'object' && at !== null; at = fieldsOf(at)['items']) {
    Reflect.deleteProperty(at, 'collectionFormat')
  }
}

/** An empty list would leave a body without any schema; without the member, the default applies. */
function dropEmptyTypes(holder: Members): void {
  for (const name of ['consumes', 'produces']) {
    const types = listOf(holder[name])
    if (types.length > MEDIA_TYPES_MAX) {
      throw new ConversionFault(`\`${name}\` must not have more than ${MEDIA_TYPES_MAX} media types.`)
    }
    if (types.length === 0) delete holder[name]
  }
}

function countContents(document: Fields, operation: Fields, contents: { count: number }): void {
  const typesOf = (name: string): number =>
    [operation[name], document[name], DEFAULT_TYPES].map(listOf).find(({ length }) => length > 0)?.length ?? 1
  const responses = fieldsOf(operation['responses'])
  checkHeaders(responses)
  contents.count += typesOf('consumes') + Object.keys(responses).length * typesOf('produces')
  if (contents.count > CONTENTS_MAX) {
    throw new ConversionFault(`The document declares more than ${CONTENTS_MAX} media types of bodies.`)
  }
}

function checkHeaders(responses: Fields): void {
  for (const response of Object.values(responses)) {
    if (Object.keys(fieldsOf(fieldsOf(response)['headers'])).length > HEADERS_MAX) {
      throw new ConversionFault(`A response must not have more than ${HEADERS_MAX} headers.`)
    }
  }
}

/** The converter follows the ancestors of each schema that has an alias. */
function checkAliases(definitions: Fields): void {
  const schemas = Object.values(definitions)
  const named = schemas.filter((schema) => ALIASES.some((name) => fieldsOf(schema)[name] !== undefined))
  if (named.length * schemas.length > ALIAS_STEPS_MAX) {
    throw new ConversionFault(`Too many definitions have the member \`${ALIASES[0]}\`.`)
  }
}

function membersOf(value: unknown): Members {
  return fieldsOf(value) as Members
}

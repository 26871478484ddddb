/**
 * Reads an OpenAPI 3.0, 3.1 or 3.2 document in YAML or JSON, and checks whether the gateway can serve it. Swagger 2.0 is converted.
 *
 * A third-party validator checks the document against OpenAPI. This module adds the requirements of the gateway: a title that
 * yields a technical name, a semantic version, unique operation ids, and references within the document. Nothing is ever
 * fetched on behalf of a document.
 */

import { Validator } from '@seriousme/openapi-schema-validator'
import { Problem, type ProblemPointer } from '../domain/problem.ts'
import { convertSwagger, isSwagger } from './convert/convert-swagger.ts'
import { toSwaggerSpots } from './convert/swagger-pointer.ts'
import { readDeclaredScopes } from './declared-scopes.ts'
import { fieldsOf, type Fields } from '../json/fields.ts'
import { readOperations, type DeclaredOperation } from './operations.ts'
import { findNotServed } from './not-served.ts'
import { parseDocumentBytes } from './parse-document.ts'
import { findBrokenReferences } from '../json/references.ts'

export type { DeclaredOperation } from './operations.ts'
export type { Fields } from '../json/fields.ts'

export interface Specification {
  readonly document: Fields
  /** The Swagger 2.0 document of which `document` was made; null for OpenAPI 3. */
  readonly swagger: Fields | null
  /** The title in lower case, runs of other than `a-z0-9` as `-`, trimmed, and `-v<major>`. */
  readonly technicalName: string
  readonly title: string
  readonly version: string
  readonly major: number
  /** The schema dialect; OpenAPI 3.2 uses that of 3.1. */
  readonly dialect: '3.0' | '3.1'
  readonly mediaType: 'application/json' | 'application/yaml'
  /** `servers[0].url` with the default values of its variables; null if it is not absolute. */
  readonly serverUrl: string | null
  readonly operations: readonly DeclaredOperation[]
  /** Scopes of the OAuth schemes and of `security`, sorted. */
  readonly declaredScopes: readonly string[]
}

const ERRORS_MAX = 50
const NAME_LENGTH_MAX = 100
/** Semantic versioning 2.0.0, with a more lenient pre-release and build suffix. */
const VERSION = /^(0|[1-9]\d{0,5})\.\d{1,9}\.\d{1,9}(?:[-+][0-9A-Za-z.+-]{1,100})?$/

/** Throws `Problem('specification_invalid')` with a pointer for each fault. */
export async function readSpecification(bytes: Uint8Array): Promise<Specification> {
  const parsed = parseDocumentBytes(bytes)
  if ('fault' in parsed) throw refuse([{ pointer: '', detail: parsed.fault }], parsed.fault)
  const given = fieldsOf(parsed.value)
  if (!isSwagger(given)) return check(given, parsed.mediaType)
  const document = await convert(given)
  try {
    return { ...(await check(document, parsed.mediaType)), swagger: given }
  } catch (cause) {
    throw cause instanceof Problem ? refuse(toSwaggerSpots(given, cause.errors)) : cause
  }
}

async function check(document: Fields, mediaType: Specification['mediaType']): Promise<Specification> {
  const dialect = /^3\.([012])\.\d{1,3}$/.exec(String(document['openapi']))
  if (dialect === null) {
    throw refuse([{ pointer: '/openapi', detail: 'The version of OpenAPI must be 3.0, 3.1 or 3.2, or Swagger 2.0.' }])
  }
  // Before validation: the validator does not terminate on circular references.
  const faults = findBrokenReferences(document, ERRORS_MAX)
  if (faults.length > 0) throw refuse(faults)
  await validate(document)

  const { name, version, major } = readInfo(fieldsOf(document['info']), faults)
  const operations = readOperations(document, faults)
  const declaredScopes = readDeclaredScopes(document, operations, faults)
  if (dialect[1] === '2') faults.push(...findNotServed(document, operations))
  if (faults.length > 0) throw refuse(faults)
  return {
    document,
    swagger: null,
    technicalName: `${name}-v${major}`,
    title: String(fieldsOf(document['info'])['title']),
    version,
    major,
    dialect: dialect[1] === '0' ? '3.0' : '3.1',
    mediaType,
    serverUrl: readServer(document),
    operations,
    declaredScopes,
  }
}

/** Checks a Swagger 2.0 document before its conversion, so that faults have their places in it. */
async function convert(swagger: Fields): Promise<Fields> {
  const broken = findBrokenReferences(swagger, ERRORS_MAX)
  if (broken.length > 0) throw refuse(broken)
  await validate({ ...swagger, swagger: '2.0' })
  const converted = await convertSwagger(swagger)
  if ('fault' in converted) throw refuse([{ pointer: '/swagger', detail: converted.fault }])
  return converted.document
}

/** Compiles the schema of each OpenAPI version once, and supports concurrent calls. */
const validator = new Validator()

/** Validates a copy, because the validator modifies its input. */
async function validate(document: Fields): Promise<void> {
  const result = await validator.validate(structuredClone(document) as Record<string, unknown>)
  // Releases the document, which the validator otherwise retains until the next call.
  Reflect.set(validator, 'specification', undefined)
  if (result.valid) return
  const { errors } = result
  if (!Array.isArray(errors) || errors.length === 0) {
    const detail = typeof errors === 'string' ? errors : 'The document is not valid OpenAPI.'
    throw refuse([{ pointer: '', detail }])
  }
  throw refuse(
    errors.map(({ instancePath, message }) => ({ pointer: instancePath, detail: message ?? 'is not valid' })),
  )
}

function readInfo(
  { title, version }: Fields,
  faults: ProblemPointer[],
): { name: string; version: string; major: number } {
  const name = String(title)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
  if (name === '' || name.length > NAME_LENGTH_MAX) {
    const detail = `The title must yield a technical name of 1 to ${NAME_LENGTH_MAX} characters a-z, 0-9 and -.`
    faults.push({ pointer: '/info/title', detail })
  }
  const match = VERSION.exec(String(version))
  if (match === null)
    faults.push({ pointer: '/info/version', detail: 'The version must be a semantic version, such as 1.4.0.' })
  return { name, version: String(version), major: Number(match?.[1] ?? 0) }
}

function readServer(document: Fields): string | null {
  const servers = Array.isArray(document['servers']) ? (document['servers'] as readonly unknown[]) : []
  const { url, variables } = fieldsOf(servers[0])
  if (typeof url !== 'string') return null
  const filled = url.replace(/\{([^{}]*)\}/g, (whole, name: string) => {
    const value = fieldsOf(fieldsOf(variables)[name])['default']
    return typeof value === 'string' ? value : whole
  })
  return /^https?:\/\/[^{}]*$/i.test(filled) && URL.canParse(filled) ? filled : null
}

function refuse(errors: readonly ProblemPointer[], detail = 'The OpenAPI document cannot be used.'): Problem {
  return new Problem('specification_invalid', detail, { errors: errors.slice(0, ERRORS_MAX) })
}

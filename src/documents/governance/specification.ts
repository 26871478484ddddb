/**
 * Reads an OpenAPI 3.0, 3.1 or 3.2 document in YAML or JSON. Swagger 2.0 is converted.
 *
 * The schemas of OpenAPI check its form. This module adds the requirements of the gateway: unique operation ids, reachable paths,
 * and references within the document. All faults are found in one run. Nothing is ever fetched on behalf of a document.
 */

import { Problem, type ProblemPointer } from '../../foundation/domain/problem.ts'
import { convertSwagger, isSwagger } from './convert/convert-swagger.ts'
import { toSwaggerSpots } from './convert/swagger-pointer.ts'
import { readDeclaredScopes } from './declared-scopes.ts'
import { fieldsOf, type Fields } from '../../foundation/json/fields.ts'
import { declaresOperation, NO_OPERATION, readOperations, type DeclaredOperation } from './operations.ts'
import { findNameObstacles, readIdentity } from './identity.ts'
import { findNotServed } from './not-served.ts'
import { findFormFaults } from './openapi-form.ts'
import type { OpenApiVersion } from './openapi-schemas.ts'
import { countValues, parseDocumentBytes } from './parse-document.ts'
import { findBrokenReferences } from '../../foundation/json/references.ts'

export type { DeclaredOperation } from './operations.ts'
export type { Fields } from '../../foundation/json/fields.ts'

/** A document that can be judged. */
export interface JudgedSpecification {
  readonly document: Fields
  /** The Swagger 2.0 document of which `document` was made; null for OpenAPI 3. */
  readonly swagger: Fields | null
  readonly title: string
  /** The schema dialect; OpenAPI 3.2 uses that of 3.1. */
  readonly dialect: '3.0' | '3.1'
  readonly mediaType: 'application/json' | 'application/yaml'
  /** `servers[0].url` with the default values of its variables; null if it is not absolute. */
  readonly serverUrl: string | null
  readonly operations: readonly DeclaredOperation[]
  /** Scopes of the OAuth schemes and of `security`, sorted. */
  readonly declaredScopes: readonly string[]
}

/** A document that has everything that a deployment needs. */
export interface Specification extends JudgedSpecification {
  /** The name that the document yields, and `-v<major>`. */
  readonly technicalName: string
  /** Semantic version; derived if the document has a shorter one. */
  readonly version: string
  readonly major: number
}

/** The content and the faults of a document. */
export interface ReadDocument {
  readonly specification: JudgedSpecification
  /** Name and version; null if the document cannot be deployed. */
  readonly deployable: Pick<Specification, 'technicalName' | 'version' | 'major'> | null
  /** Reasons why the document cannot be served. */
  readonly faults: readonly ProblemPointer[]
  /** Reasons why the document, although it can be judged, cannot be deployed. */
  readonly obstacles: readonly ProblemPointer[]
}

const ERRORS_MAX = 50
const FAULTS_MAX = 500

/** Reads a document that can be deployed. Throws `Problem('specification_invalid')` with a pointer for each fault. */
export async function readSpecification(bytes: Uint8Array): Promise<Specification> {
  const { specification, deployable, faults, obstacles } = readDocument(bytes)
  if (deployable === null || faults.length > 0 || obstacles.length > 0) throw refuse([...faults, ...obstacles])
  return { ...specification, ...deployable }
}

/** Reads a document that can be judged and compared. Throws `Problem('specification_invalid')` with a pointer for each fault. */
export function readJudged(bytes: Uint8Array): JudgedSpecification {
  const { specification, faults } = readDocument(bytes)
  if (faults.length > 0) throw refuse(faults)
  return specification
}

/** Throws `Problem('specification_invalid')` only for text that is not an OpenAPI document, and cannot be made one. */
export function readDocument(bytes: Uint8Array): ReadDocument {
  const parsed = parseDocumentBytes(bytes)
  if ('fault' in parsed) throw refuse([{ pointer: '', detail: parsed.fault }], parsed.fault)
  const given = fieldsOf(parsed.value)
  return isSwagger(given) ? readSwagger(given, parsed.mediaType) : readOpenApi(given, parsed.mediaType)
}

/** Throws `Problem('specification_invalid')` if the document cannot be converted. */
function readSwagger(swagger: Fields, mediaType: JudgedSpecification['mediaType']): ReadDocument {
  // Before the conversion, so that faults have their places in the document.
  const broken = findReadFaults({ ...swagger, swagger: '2.0' }, '2.0')
  if (broken.length > 0) throw refuse(broken)
  const converted = convertSwagger(swagger)
  if ('fault' in converted) throw refuse([{ pointer: '/swagger', detail: converted.fault }])
  const { specification, deployable, faults, obstacles } = readOpenApi(converted.document, mediaType)
  return {
    specification: { ...specification, swagger },
    deployable,
    faults: toSwaggerSpots(swagger, faults),
    obstacles: toSwaggerSpots(swagger, obstacles),
  }
}

function readOpenApi(document: Fields, mediaType: JudgedSpecification['mediaType']): ReadDocument {
  const openApi = versionOf(document)
  const faults = findReadFaults(document, openApi)
  const identity = readIdentity(document, faults)
  const operations = readOperations(document, faults)
  const declaredScopes = readDeclaredScopes(document, operations, faults)
  if (openApi === '3.2') faults.push(...findNotServed(document, operations))
  const { name, version } = identity
  const obstacles = findObstacles(document)
  return {
    specification: {
      document,
      swagger: null,
      title: String(fieldsOf(document['info'])['title']),
      dialect: openApi === '3.0' ? '3.0' : '3.1',
      mediaType,
      serverUrl: readServer(document),
      operations,
      declaredScopes,
    },
    deployable:
      name === null || version === null || obstacles.length > 0
        ? null
        : { technicalName: `${name}-v${version.major}`, version: version.full, major: version.major },
    faults: withoutConsequences(faults),
    obstacles,
  }
}

/** Returns the faults of the form and of references, one for each cause. */
function findReadFaults(document: Fields, version: OpenApiVersion): ProblemPointer[] {
  const form = findFormFaults(document, version, countValues(document))
  const references = findBrokenReferences(document, FAULTS_MAX, new Set(form.map(({ pointer }) => pointer)))
  const broken = new Set(references.map(({ pointer }) => pointer))
  return [...references, ...form.filter(({ pointer }) => !broken.has(pointer))]
}

/** A path item that is a fault may be the reason why there is no operation. */
export function withoutConsequences(faults: readonly ProblemPointer[]): readonly ProblemPointer[] {
  const others = faults.filter(({ detail }) => detail !== NO_OPERATION.detail)
  return others.some(({ pointer }) => `${pointer}/`.startsWith('/paths/')) ? others : faults
}

/** Returns the reasons why a document that can be judged cannot be deployed. */
export function findObstacles(document: Fields): ProblemPointer[] {
  const obstacles = findNameObstacles(document, readIdentity(document))
  if (!declaresOperation(document) && Object.keys(fieldsOf(document['webhooks'])).length > 0) {
    const detail = 'The document declares webhooks only; the gateway has nothing to serve.'
    obstacles.push({ pointer: '/webhooks', detail })
  }
  return obstacles
}

function versionOf(document: Fields): OpenApiVersion {
  const version = /^(3\.[012])\.\d{1,3}$/.exec(String(document['openapi']))?.[1]
  if (version !== undefined) return version as OpenApiVersion
  throw refuse([{ pointer: '/openapi', detail: 'The version of OpenAPI must be 3.0, 3.1 or 3.2, or Swagger 2.0.' }])
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

/** Returns each fault once. */
export function distinct(faults: readonly ProblemPointer[]): readonly ProblemPointer[] {
  return [...new Map(faults.map((fault) => [`${fault.pointer} ${fault.detail}`, fault])).values()]
}

export function refuse(errors: readonly ProblemPointer[], detail = 'The OpenAPI document cannot be used.'): Problem {
  return new Problem('specification_invalid', detail, { errors: distinct(errors).slice(0, ERRORS_MAX) })
}

/**
 * Reads an OpenAPI document and says whether it can be served.
 *
 * YAML or JSON, OpenAPI 3.0 and 3.1; the verdict is that of a validator of its own standing, what is
 * added here is what a gateway needs beyond it: a title that gives a name, a version, operations with
 * ids, references that stay inside. Nothing is ever fetched on behalf of a document.
 */

import { Validator } from '@seriousme/openapi-schema-validator'
import { parseDocument } from 'yaml'
import { Problem, type ProblemPointer } from '../domain/problem.ts'

export interface Specification {
  readonly document: Fields
  readonly technicalName: string
  readonly title: string
  readonly version: string
  readonly major: number
  readonly dialect: '3.0' | '3.1'
  readonly mediaType: 'application/json' | 'application/yaml'
  /** `servers[0].url` where it is absolute. */
  readonly serverUrl: string | null
  readonly operations: readonly DeclaredOperation[]
  /** Scopes of the document's OAuth schemes and of its `security`. */
  readonly declaredScopes: readonly string[]
}

export interface DeclaredOperation {
  readonly operationId: string
  /** Upper case. */
  readonly method: string
  readonly path: string
  readonly fields: Fields
  /** Parameters of the path item. */
  readonly shared: readonly unknown[]
  readonly pointer: string
}

export type Fields = Readonly<Record<string, unknown>>

const BYTES_MAX = 10 * 1024 * 1024
const ALIASES_MAX = 1_000
const ERRORS_MAX = 50
const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const

/** Throws `Problem('specification_invalid')` with a pointer for each fault. */
export async function readSpecification(bytes: Uint8Array): Promise<Specification> {
  const { document, mediaType } = parse(bytes)
  const dialect = /^3\.([01])\.\d+/.exec(String(document['openapi']))
  if (dialect === null)
    throw refuse([{ pointer: '/openapi', detail: 'Give an OpenAPI document of version 3.0 or 3.1.' }])
  await judge(document)
  const info = fieldsOf(document['info'])
  const title = String(info['title'])
  const version = String(info['version'])
  const name = title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
  const major = /^(\d{1,6})\.\d+\.\d+/.exec(version)
  const faults: ProblemPointer[] = []
  if (name === '' || name.length > 100)
    faults.push({ pointer: '/info/title', detail: 'The title gives no technical name of 1 to 100 characters.' })
  if (major === null) faults.push({ pointer: '/info/version', detail: 'Give a semantic version, such as 1.4.0.' })
  const operations = readOperations(document, faults)
  findForeignReferences(document, '', faults)
  if (faults.length > 0 || major === null) throw refuse(faults)
  return {
    document,
    technicalName: `${name}-v${Number(major[1])}`,
    title,
    version,
    major: Number(major[1]),
    dialect: dialect[1] === '0' ? '3.0' : '3.1',
    mediaType,
    serverUrl: readServer(document),
    operations,
    declaredScopes: readScopes(document, operations),
  }
}

function parse(bytes: Uint8Array): { document: Fields; mediaType: Specification['mediaType'] } {
  if (bytes.length > BYTES_MAX) throw refuse([{ pointer: '', detail: `A document takes at most ${BYTES_MAX} bytes.` }])
  const text = new TextDecoder().decode(bytes)
  const isJson = /^\s*\{/.test(text)
  if (isJson) {
    try {
      return { document: fieldsOf(JSON.parse(text)), mediaType: 'application/json' }
    } catch {
      // YAML says where a JSON document is broken, and takes what only looks like JSON.
    }
  }
  const parsed = parseDocument(text, { version: '1.2', uniqueKeys: true })
  const [error] = parsed.errors
  if (error !== undefined) {
    const place = error.linePos?.[0]
    const where = place === undefined ? '' : ` (line ${place.line}, column ${place.col})`
    throw refuse([{ pointer: '', detail: `It does not parse: ${error.message.split('\n')[0]}${where}` }])
  }
  const value: unknown = parsed.toJS({ maxAliasCount: ALIASES_MAX })
  if (typeof value !== 'object' || value === null) throw refuse([{ pointer: '', detail: 'A document is an object.' }])
  return { document: fieldsOf(value), mediaType: 'application/yaml' }
}

async function judge(document: Fields): Promise<void> {
  const result = await new Validator().validate(structuredClone(document) as Record<string, unknown>)
  if (result.valid) return
  const errors = Array.isArray(result.errors) ? result.errors : []
  throw refuse(
    errors.length === 0
      ? [{ pointer: '', detail: String(result.errors ?? 'It is not a valid OpenAPI document.') }]
      : errors.map(({ instancePath, message }) => ({ pointer: instancePath, detail: message ?? 'is not valid' })),
  )
}

function readOperations(document: Fields, faults: ProblemPointer[]): DeclaredOperation[] {
  const seen = new Set<string>()
  const operations = Object.entries(fieldsOf(document['paths'])).flatMap(([path, item]) => {
    const fields = fieldsOf(item)
    const shared = Array.isArray(fields['parameters']) ? (fields['parameters'] as readonly unknown[]) : []
    return METHODS.filter((method) => typeof fields[method] === 'object').map((method) => {
      const operation = fieldsOf(fields[method])
      const pointer = `/paths/${escape(path)}/${method}`
      const operationId = typeof operation['operationId'] === 'string' ? operation['operationId'] : `${method}_${path}`
      if (seen.has(operationId))
        faults.push({ pointer: `${pointer}/operationId`, detail: 'Another operation has this id.' })
      if (operationId === '*' || operationId.length > 256)
        faults.push({ pointer: `${pointer}/operationId`, detail: 'Give an id of 1 to 256 characters.' })
      seen.add(operationId)
      return { operationId, method: method.toUpperCase(), path, fields: operation, shared, pointer }
    })
  })
  if (operations.length === 0) faults.push({ pointer: '/paths', detail: 'The document declares no operation.' })
  return operations
}

/** A reference may only point inside; otherwise a document could have us read other places. */
function findForeignReferences(value: unknown, pointer: string, faults: ProblemPointer[]): void {
  if (typeof value !== 'object' || value === null || faults.length >= ERRORS_MAX) return
  for (const [key, inner] of Object.entries(value)) {
    const at = `${pointer}/${escape(key)}`
    if (key === '$ref' && typeof inner === 'string' && !inner.startsWith('#/')) {
      faults.push({ pointer: at, detail: 'A reference must begin with #/: nothing outside the document is read.' })
    } else if (key !== 'example' && key !== 'examples') findForeignReferences(inner, at, faults)
  }
}

function readServer(document: Fields): string | null {
  const servers = Array.isArray(document['servers']) ? (document['servers'] as readonly unknown[]) : []
  const url = fieldsOf(servers[0])['url']
  return typeof url === 'string' && /^https?:\/\//.test(url) && URL.canParse(url) ? url : null
}

function readScopes(document: Fields, operations: readonly DeclaredOperation[]): string[] {
  const schemes = Object.values(fieldsOf(fieldsOf(document['components'])['securitySchemes'])).map(fieldsOf)
  const flows = schemes.flatMap(({ flows: all }) => Object.values(fieldsOf(all)).map(fieldsOf))
  const declared = flows.flatMap(({ scopes }) => Object.keys(fieldsOf(scopes)))
  const used = [document['security'], ...operations.map(({ fields }) => fields['security'])].flatMap((security) =>
    (Array.isArray(security) ? security : []).flatMap((requirement) => Object.values(fieldsOf(requirement)).flat()),
  )
  return [...new Set([...declared, ...used.filter((scope) => typeof scope === 'string')])].sort()
}

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

/** RFC 6901 */
function escape(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

function refuse(errors: readonly ProblemPointer[]): Problem {
  return new Problem('specification_invalid', 'The OpenAPI document cannot be used.', {
    errors: errors.slice(0, ERRORS_MAX),
  })
}

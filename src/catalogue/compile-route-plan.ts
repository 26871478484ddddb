/**
 * Turns an OpenAPI document into the plan of one revision: what a gateway thread must know to route,
 * authorise and validate, and nothing else of the document.
 *
 * Patterns are tried on the linear engine here, so that a document which could only be matched by
 * backtracking is refused before it is staged.
 */

import { RE2JS } from 're2js'
import { Problem, type ProblemPointer } from '../domain/problem.ts'
import { fieldsOf, type DeclaredOperation, type Fields, type Specification } from '../governance/specification.ts'
import { compileSecurity } from './compile-security.ts'
import type { BackendPlan, BodyPlan, OperationPlan, ParameterPlan, RoutePlan } from './route-plan.ts'

export interface CompileRoutePlanOptions {
  readonly specification: Specification
  readonly tenant: string
  readonly revision: number
  readonly state: RoutePlan['state']
  readonly backend: BackendPlan | null
  readonly allowedScopes: readonly string[]
  readonly memberOfProductIds: readonly string[]
}

const BODY_BYTES_MAX = 1024 * 1024
/** Headers that OpenAPI says are not parameters, whatever a document declares. */
const NOT_PARAMETERS: ReadonlySet<string> = new Set(['accept', 'content-type', 'authorization'])
const STYLES = { path: 'simple', header: 'simple', query: 'form', cookie: 'form' } as const

/** Throws `Problem('specification_invalid')`. */
export function compileRoutePlan(options: CompileRoutePlanOptions): RoutePlan {
  const { specification, ...rest } = options
  const { document, dialect, technicalName } = specification
  const resolve = createResolver(document)
  const operations = specification.operations.map((operation) => compileOperation(operation, specification, resolve))
  const components = pickComponents(document, operations)
  checkPatterns({ operations, components })
  return { api: technicalName, dialect, components, operations, ...rest }
}

type Resolve = (value: unknown) => Fields

function compileOperation(operation: DeclaredOperation, specification: Specification, resolve: Resolve): OperationPlan {
  const { operationId, method, path, fields } = operation
  return {
    operationId,
    method,
    path,
    security: compileSecurity(operation, specification),
    parameters: compileParameters(operation, resolve),
    body: compileBody(fields, resolve),
  }
}

/** Parameters of the operation replace those of the path item with the same name and place. */
function compileParameters({ fields, shared, pointer }: DeclaredOperation, resolve: Resolve): ParameterPlan[] {
  const own = Array.isArray(fields['parameters']) ? (fields['parameters'] as readonly unknown[]) : []
  const plans = new Map<string, ParameterPlan>()
  for (const item of [...shared, ...own]) {
    const parameter = resolve(item)
    const place = parameter['in']
    const name = parameter['name']
    if (place === 'header' && typeof name === 'string' && NOT_PARAMETERS.has(name.toLowerCase())) continue
    if (typeof name !== 'string' || (place !== 'path' && place !== 'query' && place !== 'header' && place !== 'cookie'))
      continue
    const style = typeof parameter['style'] === 'string' ? parameter['style'] : STYLES[place]
    plans.set(`${place} ${name}`, {
      name,
      in: place,
      required: parameter['required'] === true || place === 'path',
      style,
      explode: typeof parameter['explode'] === 'boolean' ? parameter['explode'] : style === 'form',
      schema: flatten(parameter['schema'], resolve),
      pointer: `${pointer}/parameters/${name}`,
    })
  }
  return [...plans.values()]
}

/** The type of a parameter decides how its text is read, so a bare reference is followed here. */
function flatten(schema: unknown, resolve: Resolve): unknown {
  if (schema === undefined) return null
  return typeof fieldsOf(schema)['$ref'] === 'string' ? resolve(schema) : schema
}

function compileBody(fields: Fields, resolve: Resolve): BodyPlan | null {
  if (fields['requestBody'] === undefined) return null
  const body = resolve(fields['requestBody'])
  const bytesMax = fields['x-tollgate-max-body-bytes']
  const content = Object.entries(fieldsOf(body['content'])).map(([mediaType, media]) => {
    const schema = fieldsOf(media)['schema']
    return [
      mediaType.split(';')[0]!.trim().toLowerCase(),
      schema === undefined || isOpen(schema) ? null : schema,
    ] as const
  })
  return {
    required: body['required'] === true,
    bytesMax:
      typeof bytesMax === 'number' && Number.isSafeInteger(bytesMax) && bytesMax > 0 ? bytesMax : BODY_BYTES_MAX,
    content: Object.fromEntries(content),
  }
}

/** A schema that says nothing (or only that there are bytes) lets a body stream. */
function isOpen(schema: unknown): boolean {
  const fields = fieldsOf(schema)
  return Object.keys(fields).length === 0 || (fields['type'] === 'string' && fields['format'] === 'binary')
}

function createResolver(document: Fields): Resolve {
  return (value) => {
    let fields = fieldsOf(value)
    for (let depth = 0; typeof fields['$ref'] === 'string' && depth < 16; depth++)
      fields = fieldsOf(at(document, fields['$ref']))
    return fields
  }
}

function at(document: Fields, reference: string): unknown {
  let value: unknown = document
  for (const part of reference.slice(2).split('/')) {
    const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

/** Of the document's components those that the operations reach, each as `components/<kind>/<name>`. */
function pickComponents(document: Fields, operations: readonly OperationPlan[]): Record<string, unknown> {
  const picked: Record<string, Record<string, unknown>> = {}
  const queue: unknown[] = [...operations]
  for (let value = queue.pop(); value !== undefined; value = queue.pop()) {
    if (typeof value !== 'object' || value === null) continue
    for (const [key, inner] of Object.entries(value)) {
      if (key !== '$ref' || typeof inner !== 'string') {
        queue.push(inner)
        continue
      }
      const [root, kind, name] = inner.slice(2).split('/')
      if (root !== 'components' || kind === undefined || name === undefined) continue
      const known = (picked[kind] ??= {})
      const plain = name.replaceAll('~1', '/').replaceAll('~0', '~')
      if (Object.hasOwn(known, plain)) continue
      known[plain] = at(document, `#/components/${kind}/${name}`) ?? {}
      queue.push(known[plain])
    }
  }
  return picked
}

function checkPatterns(plan: unknown): void {
  const errors: ProblemPointer[] = []
  const queue: [unknown, string][] = [[plan, '']]
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const [value, pointer] = next
    if (typeof value !== 'object' || value === null) continue
    for (const [key, inner] of Object.entries(value)) {
      if (key === 'pattern' && typeof inner === 'string' && !isLinear(inner)) {
        errors.push({
          pointer: `${pointer}/${key}`,
          detail: `The pattern needs backtracking, which is not run here: ${inner.slice(0, 80)}`,
        })
      }
      queue.push([inner, `${pointer}/${key}`])
    }
  }
  if (errors.length > 0)
    throw new Problem('specification_invalid', 'A pattern cannot be matched in linear time.', { errors })
}

function isLinear(pattern: string): boolean {
  try {
    RE2JS.compile(pattern)
    return true
  } catch {
    return false
  }
}

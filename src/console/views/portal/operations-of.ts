/** The operations of an OpenAPI document. Everything in it is the provider's: it may have any shape, and is shown as text. */

export interface DocumentedOperation {
  readonly key: string
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly description: string
  readonly parameters: readonly Parameter[]
  /** Status and description. */
  readonly responses: readonly (readonly [string, string])[]
}

interface Parameter {
  readonly name: string
  readonly place: string
  readonly isRequired: boolean
  readonly description: string
}

type Json = Readonly<Record<string, unknown>>

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']
const OPERATIONS_MAX = 1_000

export function operationsOf(document: unknown): readonly DocumentedOperation[] {
  const root = objectOf(document)
  const found = Object.entries(objectOf(root['paths'])).flatMap(([path, item]) => {
    const shared = listOf(objectOf(item)['parameters'])
    return METHODS.flatMap((method) => {
      const operation = objectOf(item)[method]
      return operation === undefined ? [] : [toOperation(root, { path, method, shared }, objectOf(operation))]
    })
  })
  return found.slice(0, OPERATIONS_MAX)
}

interface Place {
  readonly path: string
  readonly method: string
  /** Parameters of the path. */
  readonly shared: readonly unknown[]
}

function toOperation(root: Json, { path, method, shared }: Place, operation: Json): DocumentedOperation {
  const all = [...shared, ...listOf(operation['parameters'])].map((each) => toParameter(resolve(root, each)))
  const parameters = new Map(all.map((each) => [`${each.place} ${each.name}`, each]))
  return {
    key: `${method} ${path}`,
    method: method.toUpperCase(),
    path,
    summary: textOf(operation['summary']),
    description: textOf(operation['description']),
    parameters: [...parameters.values()],
    responses: Object.entries(objectOf(operation['responses'])).map(([status, response]) => [
      status,
      textOf(resolve(root, response)['description']),
    ]),
  }
}

function toParameter(parameter: Json): Parameter {
  return {
    name: textOf(parameter['name']),
    place: textOf(parameter['in']),
    isRequired: parameter['required'] === true,
    description: textOf(parameter['description']),
  }
}

/** Follows one reference within the document. */
function resolve(root: Json, value: unknown): Json {
  const { $ref: reference } = objectOf(value)
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return objectOf(value)
  const parts = reference.slice(2).split('/')
  const target = parts.reduce<unknown>((at, part) => {
    const holder = objectOf(at)
    const name = decodePart(part)
    return Object.hasOwn(holder, name) ? holder[name] : undefined
  }, root)
  return objectOf(target)
}

function decodePart(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~')
}

function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/**
 * The operations of an OpenAPI document, for people to read.
 *
 * A document is content of its publisher: every member may be missing or of another type, names may be those of objects, and schemas
 * may refer to themselves. References are followed within the document, a bounded number of times.
 */

export type Fields = Readonly<Record<string, unknown>>

export interface ApiDocument {
  readonly title: string
  readonly description: string
  readonly operations: readonly ApiOperation[]
  /** Follows references; the part itself if it is none. */
  readonly resolve: (part: unknown) => Fields
}

export interface ApiOperation {
  /** Names the operation in the address: the `operationId`, or method and path. */
  readonly key: string
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly description: string
  readonly tag: string
  readonly isDeprecated: boolean
  readonly parameters: readonly ApiParameter[]
  readonly body: ApiBody | null
  readonly responses: readonly ApiResponse[]
}

export interface ApiParameter {
  readonly name: string
  /** `path`, `query`, `header` or `cookie`. */
  readonly place: string
  readonly isRequired: boolean
  readonly description: string
  readonly schema: Fields
  readonly example: unknown
}

export interface ApiBody {
  readonly isRequired: boolean
  readonly description: string
  readonly contents: readonly ApiContent[]
}

export interface ApiContent {
  readonly mediaType: string
  readonly schema: Fields
  /** Undefined: the document has none. */
  readonly example: unknown
}

export interface ApiResponse {
  readonly status: string
  readonly description: string
  readonly contents: readonly ApiContent[]
}

type Resolve = ApiDocument['resolve']

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query']
const REFERENCES_MAX = 20

export function readApiDocument(parsed: unknown): ApiDocument {
  const document = fieldsOf(parsed)
  const info = fieldsOf(document['info'])
  const resolve: Resolve = (part) => follow(document, part)
  const operations = Object.entries(fieldsOf(document['paths'])).flatMap(([path, item]) =>
    path.startsWith('/') ? operationsOf(path, resolve(item), resolve) : [],
  )
  return { title: textOf(info['title']), description: toParagraphs(textOf(info['description'])), operations, resolve }
}

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Lines of a text that was wrapped are one paragraph, as in Markdown; lists, quotes and blank lines stay, and texts with code. */
function toParagraphs(text: string): string {
  if (text.includes('```')) return text
  return text.replaceAll(/(?<=\S)\n(?=[^\s\-*+#>|\d])/g, ' ')
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function follow(document: Fields, part: unknown): Fields {
  let found: unknown = part
  for (let count = 0; count < REFERENCES_MAX; count++) {
    const reference = fieldsOf(found)['$ref']
    if (typeof reference !== 'string') return fieldsOf(found)
    if (!reference.startsWith('#/')) return {}
    found = reference.slice(2).split('/').reduce<unknown>(memberOf, document)
  }
  return {}
}

function memberOf(value: unknown, name: string): unknown {
  const key = name.replaceAll('~1', '/').replaceAll('~0', '~')
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as Fields)[key] : undefined
}

function operationsOf(path: string, item: Fields, resolve: Resolve): readonly ApiOperation[] {
  return METHODS.filter((method) => Object.hasOwn(item, method)).map((method) => {
    const operation = fieldsOf(item[method])
    const id = textOf(operation['operationId'])
    return {
      key: id === '' ? `${method.toUpperCase()} ${path}` : id,
      method: method.toUpperCase(),
      path,
      summary: textOf(operation['summary']),
      description: toParagraphs(textOf(operation['description'])),
      tag: textOf(listOf(operation['tags'])[0]),
      isDeprecated: operation['deprecated'] === true,
      parameters: parametersOf([...listOf(operation['parameters']), ...listOf(item['parameters'])], resolve),
      body: bodyOf(operation['requestBody'], resolve),
      responses: Object.entries(fieldsOf(operation['responses'])).map(([status, response]) =>
        responseOf(status, resolve(response), resolve),
      ),
    }
  })
}

/** Those of the operation come first and replace those of the path. */
function parametersOf(declared: readonly unknown[], resolve: Resolve): readonly ApiParameter[] {
  const found = new Map<string, ApiParameter>()
  for (const part of declared) {
    const fields = resolve(part)
    const name = textOf(fields['name'])
    const place = textOf(fields['in'])
    const key = `${place} ${name}`
    if (name === '' || found.has(key)) continue
    const [content] = contentsOf(fields['content'], resolve)
    const schema = content?.schema ?? resolve(fields['schema'])
    found.set(key, {
      ...{ name, place, schema },
      isRequired: fields['required'] === true,
      description: textOf(fields['description']),
      example: exampleIn(fields, resolve) ?? content?.example ?? exampleIn(schema, resolve),
    })
  }
  return [...found.values()]
}

function bodyOf(declared: unknown, resolve: Resolve): ApiBody | null {
  if (declared === undefined) return null
  const fields = resolve(declared)
  return {
    isRequired: fields['required'] === true,
    description: textOf(fields['description']),
    contents: contentsOf(fields['content'], resolve),
  }
}

function responseOf(status: string, fields: Fields, resolve: Resolve): ApiResponse {
  return { status, description: textOf(fields['description']), contents: contentsOf(fields['content'], resolve) }
}

function contentsOf(declared: unknown, resolve: Resolve): readonly ApiContent[] {
  return Object.entries(fieldsOf(declared)).map(([mediaType, content]) => {
    const fields = resolve(content)
    const schema = resolve(fields['schema'])
    return { mediaType, schema, example: exampleIn(fields, resolve) ?? exampleIn(schema, resolve) }
  })
}

/** The first example that a parameter, a content or a schema declares. */
function exampleIn(fields: Fields, resolve: Resolve): unknown {
  if (fields['example'] !== undefined) return fields['example']
  const { examples } = fields
  if (Array.isArray(examples)) return examples[0] as unknown
  const [first] = Object.values(fieldsOf(examples))
  return first === undefined ? undefined : resolve(first)['value']
}

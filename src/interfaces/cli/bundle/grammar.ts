/**
 * The parts of an OpenAPI document and their members, as far as they matter for references.
 *
 * Data (examples, defaults, extensions) and properties that are named `$ref` are not references.
 */

/** Parts that a reference may replace. */
export type Kind =
  | 'schema'
  | 'parameter'
  | 'response'
  | 'requestBody'
  | 'header'
  | 'example'
  | 'link'
  | 'callback'
  | 'securityScheme'
  | 'pathItem'
type Holder =
  | 'root'
  | 'components'
  | 'operation'
  | 'media'
  | 'encoding'
  | 'discriminator'
  | 'mapping'
  | 'mappedSchema'
  | 'data'
/** A part, or a map or list of parts. */
export type Slot = Kind | Holder | { readonly each: Kind | Holder }

const each = (of: Kind | Holder): Slot => ({ each: of })
const METHODS = 'get put post delete options head patch trace query'.split(' ')
const SCHEMA_MAPS = 'properties patternProperties dependentSchemas $defs definitions'.split(' ')
const SCHEMA_LISTS = 'allOf anyOf oneOf prefixItems'.split(' ')
const SCHEMA_MEMBERS = (
  'items additionalItems additionalProperties unevaluatedItems unevaluatedProperties contains propertyNames not if then ' +
  'else contentSchema'
).split(' ')

const membersFor = (names: readonly string[], slot: Slot): Readonly<Record<string, Slot>> =>
  Object.fromEntries(names.map((name) => [name, slot]))

const VALUED = { schema: 'schema', content: each('media'), examples: each('example') } as const

const MEMBERS: Readonly<Partial<Record<Kind | Holder, Readonly<Record<string, Slot>>>>> = {
  root: {
    paths: each('pathItem'),
    webhooks: each('pathItem'),
    components: 'components',
    definitions: each('schema'),
    parameters: each('parameter'),
    responses: each('response'),
  },
  components: {
    schemas: each('schema'),
    responses: each('response'),
    parameters: each('parameter'),
    examples: each('example'),
    requestBodies: each('requestBody'),
    headers: each('header'),
    securitySchemes: each('securityScheme'),
    links: each('link'),
    callbacks: each('callback'),
    pathItems: each('pathItem'),
  },
  pathItem: { parameters: each('parameter'), ...membersFor(METHODS, 'operation') },
  operation: {
    parameters: each('parameter'),
    requestBody: 'requestBody',
    responses: each('response'),
    callbacks: each('callback'),
  },
  parameter: VALUED,
  header: VALUED,
  requestBody: { content: each('media') },
  response: { schema: 'schema', headers: each('header'), content: each('media'), links: each('link') },
  media: { schema: 'schema', itemSchema: 'schema', examples: each('example'), encoding: each('encoding') },
  encoding: { headers: each('header') },
  schema: {
    ...membersFor(SCHEMA_MAPS, each('schema')),
    ...membersFor(SCHEMA_LISTS, each('schema')),
    ...membersFor(SCHEMA_MEMBERS, 'schema'),
    discriminator: 'discriminator',
  },
  discriminator: { mapping: 'mapping' },
}

const DATA: ReadonlySet<string> = new Set(['example', 'examples', 'default', 'const', 'enum'])

const KINDS: ReadonlySet<unknown> = new Set<Kind>([
  'schema',
  'parameter',
  'response',
  'requestBody',
  'header',
  'example',
  'link',
  'callback',
  'securityScheme',
  'pathItem',
])

export function isKind(slot: Slot): slot is Kind {
  return KINDS.has(slot)
}

/** Parts for which OpenAPI has no references and no components; tools copy what a reference in their place names. */
export function isInlined(slot: Slot): boolean {
  return typeof slot === 'object' || ['pathItem', 'components', 'operation', 'media', 'encoding'].includes(slot)
}

/** Returns the slot of a member. */
export function slotOf(slot: Slot, key: string): Slot {
  if (typeof slot === 'object') return slot.each
  if (slot === 'mapping') return 'mappedSchema'
  if (slot === 'callback') return key.startsWith('x-') ? 'data' : 'pathItem'
  const members = MEMBERS[slot] ?? {}
  if (Object.hasOwn(members, key)) return members[key]!
  // A file that is one schema may hold other schemas beside its keywords.
  return slot === 'schema' && !DATA.has(key) && !key.startsWith('x-') ? 'schema' : 'data'
}

/** The section of an OpenAPI 3 document, or of a Swagger 2.0 document, that holds parts of a kind; null if there is none. */
export function sectionOf(kind: Kind, isSwagger: boolean): string | null {
  if (isSwagger) return SWAGGER_SECTIONS.get(kind) ?? null
  return kind === 'pathItem' ? null : `/components/${SECTIONS[kind]}`
}

const SWAGGER_SECTIONS: ReadonlyMap<Kind, string> = new Map([
  ['schema', '/definitions'],
  ['parameter', '/parameters'],
  ['response', '/responses'],
])

const SECTIONS: Readonly<Record<Exclude<Kind, 'pathItem'>, string>> = {
  schema: 'schemas',
  parameter: 'parameters',
  response: 'responses',
  requestBody: 'requestBodies',
  header: 'headers',
  example: 'examples',
  link: 'links',
  callback: 'callbacks',
  securityScheme: 'securitySchemes',
}

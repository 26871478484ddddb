/**
 * The form of an OpenAPI document for the consumers of the API: JSON, without the addresses of backends, without extensions, which are
 * for the provider and the gateway, and without `$comment`, which is for the authors of a schema.
 */

import { parseDocumentBytes } from '../../documents/governance/parse-document.ts'

/** How the names of an object's members are to be read. */
type Kind =
  /** Words of the specification, and extensions. */
  | 'fields'
  /** Chosen by the document, so that `x-…` and `servers` are names as well. */
  | 'names'
  /** Paths and extensions. */
  | 'paths'
  /** Statuses and extensions. */
  | 'responses'
  /** Kinds of components and extensions. */
  | 'components'
  /** An array of objects whose members are named by the document. */
  | 'requirements'

const KINDS: ReadonlyMap<string, Kind> = new Map([
  ...[
    ...['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependentRequired', 'mapping'],
    ...['dependencies', 'schemas', 'parameters', 'examples', 'requestBodies', 'headers', 'securitySchemes', 'links'],
    ...['callbacks', 'pathItems', 'content', 'encoding', 'scopes', 'webhooks', 'variables', 'mediaTypes'],
  ].map((name) => [name, 'names'] as const),
  ...(['paths', 'responses', 'components'] as const).map((name) => [name, name] as const),
  ['security', 'requirements'],
])
/** Values of the document, which are shown as they are; `examples` of a schema are an array of them. */
const VALUES = new Set(['example', 'default', 'const', 'enum', 'value', 'dataValue'])
/** `server` is that of a link. */
const PRIVATE = new Set(['servers', 'server', '$comment'])

/** Throws if the document cannot be parsed; the service has accepted it before. */
export async function toPublicDocument(bytes: Uint8Array): Promise<Uint8Array> {
  const parsed = parseDocumentBytes(bytes)
  if (!('value' in parsed)) throw new Error('a document that serves cannot be parsed')
  return Buffer.from(JSON.stringify(withoutPrivate(parsed.value, 'fields')))
}

function withoutPrivate(value: unknown, kind: Kind): unknown {
  if (Array.isArray(value)) {
    const ofEach = kind === 'requirements' ? 'names' : 'fields'
    return value.map((each) => withoutPrivate(each, ofEach))
  }
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([name]) => isPublic(name, kind))
  return Object.fromEntries(members.map(([name, each]) => [name, publicMember(name, each, kind)]))
}

function isPublic(name: string, kind: Kind): boolean {
  if (kind === 'names') return true
  return !name.startsWith('x-') && (kind !== 'fields' || !PRIVATE.has(name))
}

function publicMember(name: string, value: unknown, kind: Kind): unknown {
  if (kind === 'components') return withoutPrivate(value, 'names')
  if (kind !== 'fields') return withoutPrivate(value, 'fields')
  const isValue = VALUES.has(name) || (name === 'examples' && Array.isArray(value))
  return isValue ? value : withoutPrivate(value, KINDS.get(name) ?? 'fields')
}
